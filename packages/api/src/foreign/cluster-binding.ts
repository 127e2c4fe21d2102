/** A ClusterBinding as a stranger's server gives it: what the provider calls itself, and where this cluster's credential is. */
import { isDnsSubdomain, listAt, numberAt, plainText, textAt, valueAt } from "@klutch/kube-core";
import type { Canary, ClusterBindingStatus } from "../kinds/cluster-binding.ts";
import type { AnnouncedApi, LocalSecretKeyRef } from "../kinds/common.ts";
import { type KonnectorUpdates, parseKonnectorUpdates, releaseVersion } from "../konnector-updates.ts";
import { kubeconfigKey, wantedKonnectorLabel } from "../names.ts";
import type { ApiLimit } from "../object-limit.ts";
import { renewalUrlOf } from "../renewal.ts";
import { parseAnnouncedApis } from "./announced-apis.ts";
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
  /** Limits by the name of their API, `<plural>.<group>`. They are the provider's to write, so they are no part of `status`. */
  readonly limits: ReadonlyMap<string, ApiLimit>;
  /** Numbers of the canary; each is absent where it is none. They are no part of `status`, which a heartbeat repeats. */
  readonly canary: Canary;
  /** APIs that the provider announces. They are no part of `status` either. */
  readonly newAPIs: readonly AnnouncedApi[];
  /** Version of a release that the provider wants the konnector to run. */
  readonly wantedKonnector: string | undefined;
  /** Words of the konnector about updates. They are no part of `status` either. */
  readonly konnectorUpdates: KonnectorUpdates | undefined;
  readonly status: ClusterBindingStatus;
}

const prettyNameLimit = 128;
const contactLimit = 128;
/** Most limits that are read. Exports are bounded likewise. */
const limitsLimit = 1000;
const statusTextLimit = 1024;

/** Reads one. Never throws, whatever the value is. */
export function parseClusterBinding(object: unknown): ForeignClusterBinding {
  return {
    resourceVersion: nameOf(object).resourceVersion,
    prettyName: lineOf(textAt(object, "spec", "providerPrettyName"), prettyNameLimit),
    kubeconfigSecretRef: secretRefOf(valueAt(object, "spec", "kubeconfigSecretRef")),
    renewalUrl: renewalUrlOf(valueAt(object, "spec", "serviceProviderSpec")),
    limits: limitsOf(valueAt(object, "status")),
    canary: canaryOf(valueAt(object, "status", "canary")),
    newAPIs: parseAnnouncedApis(valueAt(object, "status", "newAPIs")),
    wantedKonnector: wantedOf(object),
    konnectorUpdates: parseKonnectorUpdates(valueAt(object, "status", "konnectorUpdates")),
    status: statusOf(valueAt(object, "status")),
  };
}

function wantedOf(object: unknown): string | undefined {
  const wanted = textAt(object, "metadata", "annotations", wantedKonnectorLabel);
  return releaseVersion(wanted) === undefined ? undefined : wanted;
}

function canaryOf(canary: unknown): Canary {
  const numbers = (["sent", "answered"] as const).flatMap((name) => {
    const number = countAt(canary, name);
    return number === undefined ? [] : [[name, number] as const];
  });
  return Object.fromEntries(numbers);
}

/** Leaves out entries that are malformed, and those of an API that has one already. */
function limitsOf(status: unknown): ReadonlyMap<string, ApiLimit> {
  const contact = lineOf(textAt(status, "contact"), contactLimit);
  const limits = new Map<string, ApiLimit>();
  for (const entry of listAt(status, "limits").slice(0, limitsLimit)) {
    const [max, used] = [countAt(entry, "max"), countAt(entry, "used")];
    const name = `${textAt(entry, "resource") ?? ""}.${textAt(entry, "group") ?? ""}`;
    if (max === undefined || used === undefined || !isApiName(name) || limits.has(name)) continue;
    limits.set(name, { max, used, ...(contact === undefined ? {} : { contact }) });
  }
  return limits;
}

/** A bound API is of a group. Its resource is one label. */
const isApiName = (name: string): boolean => /^[a-z][-a-z0-9]*[a-z0-9]\../.test(name) && isDnsSubdomain(name);

function countAt(value: unknown, field: string): number | undefined {
  const number = numberAt(value, field);
  return number !== undefined && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

/** Returns the text as one short line; undefined where nothing is left of it. */
function lineOf(text: string | undefined, limit: number): string | undefined {
  return text === undefined ? undefined : textAt(plainText(text, limit));
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
