/** One app cluster of the fleet: a model of an API server with the real agent, bound to every API, and one claim in each of its namespaces. */
import {
  apiServiceBindingCrd,
  apiServiceBindings,
  consumerNamespace,
  kubeconfigKey,
  releaseCreationsAnnotation,
} from "@klutch/api";
import { isAlreadyExists, type KubeClient, systemClock } from "@klutch/kube";
import {
  conditionsOf,
  customResourceDefinitions,
  isTrue,
  type KubeObject,
  namespaces as namespaceType,
  secrets,
} from "@klutch/kube-core";
import { ApiServerModel, namespaceObject, objectOfType, secretObject, waitFor } from "@klutch/kube-testing";
import { keepAgent } from "../harness/modelled-agent.ts";
import { startFollowing, startStopwatch, within } from "../harness/stopwatch.ts";
import { wallClock } from "../harness/wire-log.ts";
import {
  claimOf,
  fieldsOf,
  firstClaim,
  fleetKinds,
  hasStatus,
  probePrefix,
  providerSecrets,
  timedKind,
} from "./kinds.ts";

/** Says which app cluster to make. */
export interface FleetClusterOptions {
  /** Also the name of its cluster namespace. */
  readonly name: string;
  readonly index: number;
  /** Its credential for the control plane. */
  readonly kubeconfig: string;
  readonly apis: number;
  readonly namespaces: number;
}

/** An app cluster with its agent at work, as long as the process runs. */
export interface FleetCluster {
  readonly name: string;
  /** The number of times that the agent, or a part of it, ended by itself. */
  readonly restarts: number;
  /** True while every binding is Ready. */
  readonly isReady: boolean;
  /** Milliseconds since the epoch at which the last turn of any binding came, to Ready or away from it. */
  readonly turnedAt: number;
  /** Ends the agent as a SIGTERM does. */
  stop(): Promise<void>;
  start(): void;
  /** Changes its first claim. */
  edit(size: number): Promise<unknown>;
  /** Resolves to the milliseconds since the epoch at which its CRD of the timed kind first had a field of this name. */
  hasField(name: string): Promise<number>;
  /** True while a binding holds creations back. */
  readonly isHolding: boolean;
  /** The number of its claims of the timed kind. */
  claims(): Promise<number>;
  /** Makes a claim that stays; resolves when it has its status. */
  make(name: string): Promise<void>;
  /** Allows held creations, from this time on. */
  release(time: string): Promise<unknown>;
  /** Makes claims one after the other; resolves to the milliseconds until each had its status in the app cluster. */
  probe(count: number): Promise<readonly number[]>;
}

/** Names a namespace. */
export function workNamespace(index: number): string {
  return `team-${index}`;
}

const patience = { timeoutMs: 900_000, intervalMs: 500 };
const probeLimitMs = 120_000;

/** Resolves when its claims are made and every binding is Ready. */
export async function startFleetCluster(options: FleetClusterOptions): Promise<FleetCluster> {
  const { name, index, apis, namespaces } = options;
  const model = new ApiServerModel({ clock: systemClock, uidSeed: index + 1 });
  const client = model.client({ clusterName: name });
  await prepare(model, options);
  let [restarts, turnedAt, probes] = [0, 0, 0];
  let stop = new AbortController();
  const run = (): Promise<void> =>
    keepAgent(model, { name, signal: stop.signal, onRestart: () => restarts++ });
  const ready = new Set<string>();
  const holding = new Set<string>();
  await startFollowing(client, apiServiceBindings, {
    namespace: consumerNamespace,
    onChange(_kind, object) {
      const binding = object.metadata.name ?? "";
      const conditions = conditionsOf(object);
      if (isTrue(conditions, "CreationHeld")) holding.add(binding);
      else holding.delete(binding);
      const isReady = isTrue(conditions, "Ready");
      if (isReady === ready.has(binding)) return;
      turnedAt = wallClock();
      if (isReady) ready.add(binding);
      else ready.delete(binding);
    },
  });
  const fieldsAt = new Map<string, number>();
  await startFollowing(client, customResourceDefinitions, {
    onChange(_kind, object) {
      if (object.metadata.name !== timedKind.crdName) return;
      for (const field of fieldsOf(object)) if (!fieldsAt.has(field)) fieldsAt.set(field, wallClock());
    },
  });
  let running = run();
  for (let number = 0; number < namespaces; number++)
    await waitFor(
      `the API to be served in ${name}`,
      () => client.create(timedKind.type, claimOf(timedKind, workNamespace(number), firstClaim)),
      patience,
    );
  await waitFor(`the bindings of ${name} to be Ready`, () => ready.size === apis, patience);
  const stopwatch = await startStopwatch(client, timedKind.type);
  /** Makes a claim; resolves to the milliseconds until it had its status. */
  const make = async (claim: string, limitMs: number): Promise<number> => {
    const seen = stopwatch.seen(`${workNamespace(0)}/${claim}`, hasStatus);
    const startedAt = performance.now();
    await client.create(timedKind.type, claimOf(timedKind, workNamespace(0), claim));
    const at = await within(seen, limitMs, `the status of ${name}'s ${claim}`, async () => "");
    return at - startedAt;
  };
  return {
    name,
    get restarts() {
      return restarts;
    },
    get isReady() {
      return ready.size === apis;
    },
    get turnedAt() {
      return turnedAt;
    },
    async stop() {
      stop.abort(new Error("gone"));
      await running;
    },
    start() {
      stop = new AbortController();
      running = run();
    },
    edit: (size) => {
      const ref = { namespace: workNamespace(0), name: firstClaim };
      return client.mergePatch<KubeObject>(timedKind.type, ref, { spec: { size } });
    },
    hasField: (field) => waitFor(`the field ${field} in ${name}`, () => fieldsAt.get(field), patience),
    get isHolding() {
      return holding.size > 0;
    },
    claims: async () => (await client.list(timedKind.type)).items.length,
    make: async (claim) => void (await make(claim, patience.timeoutMs)),
    release: (time) =>
      client.mergePatch(
        apiServiceBindings,
        { namespace: consumerNamespace, name: timedKind.crdName },
        { metadata: { annotations: { [releaseCreationsAnnotation]: time } } },
      ),
    async probe(count) {
      const times: number[] = [];
      for (let number = 0; number < count; number++) {
        const ref = { namespace: workNamespace(0), name: `${probePrefix}${probes++}` };
        times.push(await make(ref.name, probeLimitMs));
        const gone = stopwatch.gone(`${ref.namespace}/${ref.name}`);
        await client.delete(timedKind.type, ref);
        await within(gone, probeLimitMs, `the end of ${name}'s ${ref.name}`, async () => "");
      }
      return times;
    },
  };
}

/** Creates the objects that a bind leaves in an app cluster. */
async function prepare(
  model: ApiServerModel,
  { kubeconfig, apis, namespaces }: FleetClusterOptions,
): Promise<void> {
  const client = model.client({ clusterName: "preparation" });
  const work = Array.from({ length: namespaces }, (_, index) => workNamespace(index));
  for (const name of [consumerNamespace, ...work])
    await client.create(namespaceType, namespaceObject(name)).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  await client.create<KubeObject>(customResourceDefinitions, apiServiceBindingCrd);
  await createBindings(client, { kubeconfig, apis });
}

/** Creates the tenant's credential and a binding of each API, with the Secrets accepted. */
export async function createBindings(
  client: KubeClient,
  { kubeconfig, apis }: Pick<FleetClusterOptions, "kubeconfig" | "apis">,
): Promise<void> {
  const ref = { namespace: consumerNamespace, name: kubeconfigKey };
  await client.create(secrets, secretObject(ref.namespace, ref.name, { [kubeconfigKey]: kubeconfig }));
  const permissionClaims = [{ ...providerSecrets, state: "Accepted" }];
  const spec = { kubeconfigSecretRef: { ...ref, key: kubeconfigKey }, permissionClaims };
  for (const { crdName: name } of fleetKinds(apis)) {
    const metadata = { namespace: consumerNamespace, name };
    await client.create(apiServiceBindings, objectOfType(apiServiceBindings, metadata, { spec }));
  }
}
