/**
 * An app cluster as a model of an API server in this process, with the real agent, which works for a real control plane. Fifty real app
 * clusters do not fit on one machine; what they would do to the control plane is the agent's part.
 */
import { apiServiceBindingCrd, apiServiceBindings, consumerNamespace, kubeconfigKey } from "@klutch/api";
import { type KubeClient, systemClock } from "@klutch/kube";
import {
  conditionsOf,
  customResourceDefinitions,
  isTrue,
  type KubeObject,
  namespaces,
  secrets,
} from "@klutch/kube-core";
import { ApiServerModel, namespaceObject, objectOfType, secretObject, waitFor } from "@klutch/kube-testing";
import { databaseObject, databases, databasesName } from "../../e2e/security/bound-fixture.ts";
import { keepAgent } from "../harness/modelled-agent.ts";
import { startFollowing } from "../harness/stopwatch.ts";
import { wallClock } from "../harness/wire-log.ts";

/** Namespace of the claims. */
export const claimNamespace = "team";
/** The claim that is edited. */
export const editedClaim = "edited";

export interface AppClusterOptions {
  /** Also the name of its cluster namespace. */
  readonly name: string;
  readonly index: number;
  /** Its credential for the control plane. */
  readonly kubeconfig: string;
  readonly claims: number;
}

/** Its binding began or ceased to be Ready. */
export interface Turn {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly isReady: boolean;
}

/** An app cluster with its agent at work, as long as the process runs. */
export interface AppCluster {
  readonly name: string;
  /** Turns of its binding since the start. */
  readonly turns: readonly Turn[];
  /** The number of times that the agent, or a part of it, ended and had to be started again. */
  readonly restarts: number;
  edit(size: number): Promise<unknown>;
}

const patience = { timeoutMs: 240_000, intervalMs: 500 };

/** Resolves when its claims are there and its binding is Ready. */
export async function startAppCluster(options: AppClusterOptions): Promise<AppCluster> {
  const { name, index, claims } = options;
  const model = new ApiServerModel({ clock: systemClock, uidSeed: index + 1 });
  const client = model.client({ clusterName: name });
  await prepare(client, options.kubeconfig);
  const turns: Turn[] = [];
  let restarts = 0;
  void keepAgent(model, { name, signal: new AbortController().signal, onRestart: () => restarts++ });
  await startFollowing(client, apiServiceBindings, {
    namespace: consumerNamespace,
    onChange(_kind, object) {
      const isReady = isTrue(conditionsOf(object), "Ready");
      if (isReady !== (turns.at(-1)?.isReady ?? false)) turns.push({ at: wallClock(), isReady });
    },
  });
  for (const claim of [editedClaim, ...Array.from({ length: claims - 1 }, (_, number) => `db-${number}`)]) {
    const object = databaseObject(claimNamespace, claim);
    await waitFor("the API to be served", () => client.create(databases, object), patience);
  }
  await waitFor("the binding to be Ready", () => turns.at(-1)?.isReady === true, patience);
  const ref = { namespace: claimNamespace, name: editedClaim };
  return {
    name,
    turns,
    get restarts() {
      return restarts;
    },
    edit: (size) => client.mergePatch<KubeObject>(databases, ref, { spec: { size } }),
  };
}

async function prepare(client: KubeClient, kubeconfig: string): Promise<void> {
  for (const name of [consumerNamespace, claimNamespace])
    await client.create(namespaces, namespaceObject(name));
  await client.create<KubeObject>(customResourceDefinitions, apiServiceBindingCrd);
  const ref = { namespace: consumerNamespace, name: kubeconfigKey };
  await client.create(secrets, secretObject(ref.namespace, ref.name, { [kubeconfigKey]: kubeconfig }));
  const metadata = { namespace: consumerNamespace, name: databasesName };
  const spec = { kubeconfigSecretRef: { ...ref, key: kubeconfigKey } };
  await client.create(apiServiceBindings, objectOfType(apiServiceBindings, metadata, { spec }));
}
