/** A ClusterBinding as a stranger's server gives it: what the provider calls itself, and where this cluster's credential is. */
import { isDnsSubdomain, plainText, textAt, valueAt } from "@klutch/kube-core";
import type { ClusterBindingStatus } from "../kinds/cluster-binding.ts";
import type { LocalSecretKeyRef } from "../kinds/common.ts";
import { kubeconfigKey } from "../names.ts";
import { renewalUrlOf } from "../renewal.ts";
import { conditionsOf, nameOf } from "./read.ts";

/** Usable fields of a foreign ClusterBinding; the others are absent. */
export interface ForeignClusterBinding {
  readonly resourceVersion: string | undefined;
  /** One line. */
  readonly prettyName: string | undefined;
  /** The Secret in the cluster namespace with the kubeconfig. */
  readonly kubeconfigSecretRef: LocalSecretKeyRef | undefined;
  /** URL at which an expired credential can be renewed. */
  readonly renewalUrl: string | undefined;
  readonly status: ClusterBindingStatus;
}

const prettyNameLimit = 128;
const statusTextLimit = 1024;

/** Reads one. Never throws, whatever the value is. */
export function parseClusterBinding(object: unknown): ForeignClusterBinding {
  const prettyName = textAt(object, "spec", "providerPrettyName");
  return {
    resourceVersion: nameOf(object).resourceVersion,
    prettyName: prettyName === undefined ? undefined : textAt(plainText(prettyName, prettyNameLimit)),
    kubeconfigSecretRef: secretRefOf(valueAt(object, "spec", "kubeconfigSecretRef")),
    renewalUrl: renewalUrlOf(valueAt(object, "spec", "serviceProviderSpec")),
    status: statusOf(valueAt(object, "status")),
  };
}

function secretRefOf(value: unknown): LocalSecretKeyRef | undefined {
  const name = textAt(value, "name");
  const isName = name !== undefined && isDnsSubdomain(name);
  return isName && valueAt(value, "key") === kubeconfigKey ? { name, key: kubeconfigKey } : undefined;
}

function statusOf(status: unknown): ClusterBindingStatus {
  const texts = ["lastHeartbeatTime", "heartbeatInterval", "konnectorVersion", "renewalKey"].flatMap(
    (name) => {
      const text = textAt(status, name);
      return text === undefined || text.length > statusTextLimit ? [] : [[name, text] as const];
    },
  );
  return {
    ...Object.fromEntries(texts),
    ...(valueAt(status, "conditions") === undefined ? {} : { conditions: conditionsOf(status) }),
  };
}
