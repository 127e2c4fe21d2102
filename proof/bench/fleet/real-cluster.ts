/** One app cluster of real servers with the konnector as it ships, in a process of its own and with its shipped rights. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  apiServiceBindingCrd,
  apiServiceBindings,
  boundApiRoleManifests,
  consumerNamespace,
  konnectorManifests,
  konnectorName,
  serviceNamespaceName,
} from "@klutch/api";
import { formatKubeconfig } from "@klutch/kube";
import { conditionsOf, isTrue, namespaces as namespaceType } from "@klutch/kube-core";
import {
  accountConfig,
  chosenKubernetes,
  installKinds,
  installRights,
  namespaceObject,
  startCluster,
  waitFor,
} from "@klutch/kube-testing";
import { prepareAgent } from "../harness/agent-process.ts";
import { startFollowing, startStopwatch, type Stopwatch, within } from "../harness/stopwatch.ts";
import { createBindings, workNamespace } from "./app-cluster.ts";
import type { FleetControlPlane } from "./control-plane.ts";
import { claimOf, firstClaim, fleetKinds, hasStatus, providerSecrets, timedKind } from "./kinds.ts";

/** Says which app cluster to make. */
export interface RealClusterOptions {
  /** Also the name of its cluster namespace. */
  readonly name: string;
  readonly apis: number;
  readonly namespaces: number;
  /** Keeps data and logs of all app clusters. */
  readonly folder: string;
  /** Command that starts the konnector. */
  readonly agent: string;
}

/** The control plane as it is measured: `arrivals` watches the timed kind in all its namespaces. */
export interface Upstream {
  readonly controlPlane: FleetControlPlane;
  readonly arrivals: Stopwatch;
}

/** Names the upstream object of a claim. */
export interface ClaimCopy {
  readonly namespace: string;
  readonly name: string;
}

/** Milliseconds of one claim. */
export interface ClaimTimes {
  /** From sending the claim in the app cluster until a watch of the control plane shows it. */
  readonly up: number;
  /** From sending a status in the control plane until a watch of the app cluster shows it. */
  readonly down: number;
}

/** Servers that run. Disposing it ends konnector and servers. */
export interface RealCluster extends AsyncDisposable {
  readonly name: string;
  /** The konnector's process id. Throws before `connect`. */
  readonly agentPid: number;
  /**
   * Binds all APIs with this credential and starts the konnector. Resolves to the milliseconds from that start until every binding is Ready
   * and the first claim of each namespace is in the control plane.
   */
  connect(kubeconfig: string): Promise<number>;
  /** Makes one claim, writes its status in the control plane, and deletes it. `provide` is what the provider does before: it is not timed. */
  timeClaim(provide?: (copy: ClaimCopy) => Promise<void>): Promise<ClaimTimes>;
  /** Ends the konnector in order and starts another, with these variables. */
  restartAgent(env: Readonly<Record<string, string>>): Promise<void>;
}

const limitMs = 240_000;

/** Starts the servers; nothing is bound. */
export async function startRealCluster(
  options: RealClusterOptions,
  upstream: Upstream,
): Promise<RealCluster> {
  await using stack = new AsyncDisposableStack();
  const { name, apis, namespaces, folder } = options;
  const dataDir = join(folder, name);
  const kubernetes = chosenKubernetes().appCluster;
  const cluster = stack.use(await startCluster({ name, fsync: true, dataDir, kubernetes }));
  const { client } = cluster;
  await installRights(client, konnectorManifests({ image: "none" }));
  await installKinds(client, [apiServiceBindingCrd]);
  // The plugin makes these rights with a binding; the agent over a model needs none.
  const accepted = [{ ...providerSecrets, state: "Accepted" }] as const;
  for (const { type } of fleetKinds(apis)) {
    const roles = boundApiRoleManifests({ group: type.group, resource: type.plural }, accepted);
    await installRights(client, roles);
  }
  const work = Array.from({ length: namespaces }, (_, index) => workNamespace(index));
  for (const namespace of work) await client.create(namespaceType, namespaceObject(namespace));
  const account = await accountConfig(cluster, { namespace: consumerNamespace, name: konnectorName });
  const KUBECONFIG = join(dataDir, "konnector.kubeconfig");
  await writeFile(KUBECONFIG, formatKubeconfig(account), { mode: 0o600 });
  const env = { KUBECONFIG, POD_NAMESPACE: consumerNamespace };
  const agent = stack.use(await prepareAgent(options.agent, env, join(dataDir, "konnector.log")));
  const problem = async (): Promise<string> => agent.log();
  const keyUpstream = (namespace: string, claim: string): string =>
    `${serviceNamespaceName(name, namespace)}/${claim}`;
  const ready = new Set<string>();
  stack.use(
    await startFollowing(client, apiServiceBindings, {
      namespace: consumerNamespace,
      onChange(_kind, object) {
        const binding = object.metadata.name ?? "";
        if (isTrue(conditionsOf(object), "Ready")) ready.add(binding);
        else ready.delete(binding);
      },
    }),
  );
  let [claims, statuses]: [number, Stopwatch | undefined] = [0, undefined];
  const owned = stack.move();
  return {
    name,
    get agentPid() {
      return agent.pid;
    },
    async connect(kubeconfig) {
      await createBindings(client, { kubeconfig, apis });
      const firsts = work.map((namespace) => upstream.arrivals.seen(keyUpstream(namespace, firstClaim)));
      const startedAt = performance.now();
      await agent.start();
      const patience = { timeoutMs: limitMs, intervalMs: 100 };
      for (const namespace of work) {
        const create = (): Promise<unknown> =>
          client.create(timedKind.type, claimOf(timedKind, namespace, firstClaim));
        await waitFor(`the API to be served in ${name}`, create, patience).catch((error: unknown) => {
          throw new Error(`${String(error)}\n${agent.log()}`, { cause: error });
        });
      }
      await within(Promise.all(firsts), limitMs, `the first claims of ${name}`, problem);
      await waitFor(`the bindings of ${name} to be Ready`, () => ready.size === apis, patience);
      const tookMs = performance.now() - startedAt;
      statuses = owned.use(await startStopwatch(client, timedKind.type));
      return tookMs;
    },
    async restartAgent(env) {
      await agent.stop();
      await agent.start(env);
    },
    async timeClaim(provide) {
      if (statuses === undefined) throw new Error(`${name} is not connected`);
      const ref = { namespace: workNamespace(0), name: `timed-${claims++}` };
      const key = `${ref.namespace}/${ref.name}`;
      const arrived = upstream.arrivals.seen(keyUpstream(ref.namespace, ref.name));
      const sentAt = performance.now();
      await client.create(timedKind.type, claimOf(timedKind, ref.namespace, ref.name));
      const up = (await within(arrived, limitMs, `${name}'s ${ref.name} to arrive`, problem)) - sentAt;
      const copy = { namespace: serviceNamespaceName(name, ref.namespace), name: ref.name };
      await provide?.(copy);
      const returned = statuses.seen(key, hasStatus);
      const reportedAt = performance.now();
      const status = { status: { message: "done" } };
      const ofStatus = { subresource: "status" } as const;
      await upstream.controlPlane.cluster.client.mergePatch(timedKind.type, copy, status, ofStatus);
      const down =
        (await within(returned, limitMs, `the status of ${name}'s ${ref.name}`, problem)) - reportedAt;
      const gone = statuses.gone(key);
      await client.delete(timedKind.type, ref);
      await within(gone, limitMs, `the end of ${name}'s ${ref.name}`, problem);
      return { up, down };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
