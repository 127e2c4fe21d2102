/** The app cluster and the control plane of a test file, with one bound API, and the commands to run there. */
import {
  type APIServiceBinding,
  apiServiceBindings,
  consumerNamespace,
  konnectorManifests,
  konnectorName,
} from "@klutch/api";
import {
  type Condition,
  deployments,
  type DynamicObject,
  leases,
  microTime,
  type ObjectRef,
} from "@klutch/kube-core";
import { type KubeClient, systemClock } from "@klutch/kube";
import { waitFor } from "@klutch/kube-testing";
import { confineKonnector } from "../app-cluster/confinement.ts";
import { applyManifests } from "../app-cluster/konnector.ts";
import { asConsumer, bindApi, type BoundPair, syncedClaim } from "./bound-pair.ts";
import { createTenant, prepareConsumer, prepareProvider } from "./provider-side.ts";
import { type Finished, type Outside, type Started, startRun } from "./run.ts";
import { scriptedRun } from "./script.ts";
import { startTwoClusters, type TwoClusters } from "./two-clusters.ts";

/** Two API servers with one bound API between them, on which commands of `klutch` run. */
export interface KlutchFixture extends Pick<TwoClusters, "consumer" | "provider">, AsyncDisposable {
  /** Bound for tenant `cluster-a`, with the claims `one` and `two` in namespace `app` in sync. */
  readonly widgets: BoundPair;
  /** Paths of kubeconfigs. */
  readonly paths: { readonly app: string; readonly controlPlane: string; readonly tenant: string };
  /** `klutch` with the app cluster's kubeconfig in its environment. */
  start(args: readonly string[], outside?: Outside, program?: string): Started;
  run(args: readonly string[], outside?: Outside, program?: string): Promise<Finished>;
  /** `klutch verify` as administrator of both clusters. */
  verify(...more: string[]): Promise<Finished>;
  findBinding(name: string): Promise<APIServiceBinding | undefined>;
  patchBinding(name: string, patch: object): Promise<void>;
  setConditions(name: string, conditions: readonly Omit<Condition, "lastTransitionTime">[]): Promise<void>;
  /** Plays a konnector that is well: both replicas, the lease, and `widgets` is Ready. */
  makeHealthy(): Promise<void>;
}

/** Starts it. */
export async function startKlutchFixture(
  options: Parameters<typeof startTwoClusters>[0] = {},
): Promise<KlutchFixture> {
  await using stack = new AsyncDisposableStack();
  const { consumer, provider, write } = stack.use(await startTwoClusters(options));
  await prepareProvider(provider);
  await prepareConsumer(consumer);
  await installByHand(consumer.client);
  await waitFor("the bindings", () => consumer.client.list(apiServiceBindings));
  const paths = {
    app: await write("app", consumer.kubeconfig),
    controlPlane: await write("control-plane", provider.kubeconfig),
    tenant: await write("tenant", await createTenant(provider, "cluster-a")),
  };
  const widgets = await bindApi(consumer, provider, "cluster-a", "widgets");
  await confineKonnector(scriptedRun().context, asConsumer(consumer.client));
  await syncedClaim(consumer, provider, widgets, "one");
  await syncedClaim(consumer, provider, widgets, "two");
  const start: KlutchFixture["start"] = (args, outside = {}, program = "klutch") => {
    return startRun(program, args, { env: { KUBECONFIG: paths.app }, ...outside });
  };
  const run: KlutchFixture["run"] = (...given) => start(...given).done;
  const refOf = (name: string): ObjectRef => ({ namespace: consumerNamespace, name });
  const setConditions: KlutchFixture["setConditions"] = async (name, given) => {
    const lastTransitionTime = "2026-01-01T00:00:00Z";
    const status = { conditions: given.map((condition) => ({ ...condition, lastTransitionTime })) };
    const options = { subresource: "status" };
    await consumer.client.mergePatch(apiServiceBindings, refOf(name), { status }, options);
  };
  const owned = stack.move();
  return {
    consumer,
    provider,
    widgets,
    paths,
    start,
    run,
    verify: (...more) => run(["verify", paths.app, paths.controlPlane, "--namespace", "cluster-a", ...more]),
    findBinding: (name) => consumer.client.find<APIServiceBinding>(apiServiceBindings, refOf(name)),
    async patchBinding(name, patch) {
      await consumer.client.mergePatch(apiServiceBindings, refOf(name), patch);
    },
    setConditions,
    async makeHealthy() {
      await reportReplicas(consumer.client);
      await setConditions(widgets.name, [{ type: "Ready", status: "True" }]);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Writes what `kubectl bind` installs. No konnector starts. */
export async function installByHand(client: KubeClient): Promise<void> {
  const manifests = konnectorManifests({ image: "example.test/konnector:v1" });
  await applyManifests(asConsumer(client), manifests, new AbortController().signal);
}

/** The Deployment is available, and a replica holds the lease for ten minutes. */
export async function reportReplicas(client: KubeClient): Promise<void> {
  const status = { status: { replicas: 2, readyReplicas: 2, availableReplicas: 2 } };
  const ref = { namespace: consumerNamespace, name: konnectorName };
  await client.mergePatch(deployments, ref, status, { subresource: "status" });
  const now = microTime(systemClock.now());
  await client.create<DynamicObject>(leases, {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { namespace: consumerNamespace, name: consumerNamespace },
    spec: { holderIdentity: "konnector-0", leaseDurationSeconds: 600, renewTime: now, acquireTime: now },
  });
}
