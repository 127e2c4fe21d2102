/** The app cluster and the control plane of a test file, with one bound API, and the commands to run there. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type APIServiceBinding,
  apiServiceBindings,
  consumerNamespace,
  konnectorManifests,
} from "@klutch/api";
import type { Condition } from "@klutch/kube-core";
import { startClusters, type TestCluster, waitFor } from "@klutch/kube-testing";
import { confineKonnector } from "../app-cluster/confinement.ts";
import { applyManifests } from "../app-cluster/konnector.ts";
import { asConsumer, bindApi, type BoundPair, syncedClaim } from "./bound-pair.ts";
import { createTenant, prepareConsumer, prepareProvider } from "./provider-side.ts";
import { type Finished, type Outside, type Started, startRun } from "./run.ts";
import { scriptedRun } from "./script.ts";

/** Two API servers with one bound API between them, on which commands of `klutch` run. */
export interface KlutchWorld extends AsyncDisposable {
  readonly consumer: TestCluster;
  readonly provider: TestCluster;
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
}

/** Starts it. */
export async function startKlutchWorld(): Promise<KlutchWorld> {
  const [consumer, provider] = await startClusters(2);
  if (consumer === undefined || provider === undefined) throw new Error("two clusters were asked for");
  const folder = await mkdtemp(join(tmpdir(), "klutch-commands-"));
  const paths = {
    app: join(folder, "app"),
    controlPlane: join(folder, "control-plane"),
    tenant: join(folder, "tenant"),
  };
  await writeFile(paths.app, consumer.kubeconfig);
  await writeFile(paths.controlPlane, provider.kubeconfig);
  await prepareProvider(provider);
  await prepareConsumer(consumer);
  const manifests = konnectorManifests({ image: "example.test/konnector:v1" });
  await applyManifests(asConsumer(consumer.client), manifests, new AbortController().signal);
  await waitFor("the bindings", () => consumer.client.list(apiServiceBindings));
  await writeFile(paths.tenant, await createTenant(provider, "cluster-a"));
  const widgets = await bindApi(consumer, provider, "cluster-a", "widgets");
  await confineKonnector(scriptedRun().context, asConsumer(consumer.client));
  await syncedClaim(consumer, provider, widgets, "one");
  await syncedClaim(consumer, provider, widgets, "two");
  const start: KlutchWorld["start"] = (args, outside = {}, program = "klutch") => {
    return startRun(program, args, { env: { KUBECONFIG: paths.app }, ...outside });
  };
  const run: KlutchWorld["run"] = (...given) => start(...given).done;
  const refOf = (name: string): { namespace: string; name: string } => ({
    namespace: consumerNamespace,
    name,
  });
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
    async setConditions(name, given) {
      const lastTransitionTime = "2026-01-01T00:00:00Z";
      const status = { conditions: given.map((condition) => ({ ...condition, lastTransitionTime })) };
      const options = { subresource: "status" };
      await consumer.client.mergePatch(apiServiceBindings, refOf(name), { status }, options);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([consumer, provider].map((cluster) => cluster[Symbol.asyncDispose]()));
      await rm(folder, { recursive: true });
    },
  };
}
