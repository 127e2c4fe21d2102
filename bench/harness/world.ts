/** Two real clusters with fsync, a bound widget API, and an agent as its own process between them. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  apiServiceBindings,
  bindCrds,
  consumerNamespace,
  customResourceDefinitions,
  findCondition,
  namespaces,
  type APIServiceBinding,
} from "@klutch/api";
import { type RunningProcess, startProcess } from "@klutch/engines";
import { type KubeObject } from "@klutch/kube";
import { startClusters, type TestCluster, waitFor } from "@klutch/kube-testing";
import {
  clusterNamespace,
  createKubeconfigSecret,
  prepareProvider,
  serveNamespace,
} from "./provider-side.ts";
import { widgetCrd, widgetCrdName, widgets } from "./widget.ts";

/** What a benchmark works with. */
export interface BenchWorld extends AsyncDisposable {
  readonly consumer: TestCluster;
  readonly provider: TestCluster;
  readonly agent: RunningProcess;
  /** Namespace of the app cluster that is already mapped, and its mirror. */
  readonly consumerNamespace: string;
  readonly serviceNamespace: string;
}

/** Namespace in which the benchmarks make their widgets. */
const workNamespace = "bench";

/** Starts everything; `agentCommand` is a shell command that reads the app cluster's address from KUBECONFIG. */
export async function startBenchWorld(agentCommand: string): Promise<BenchWorld> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "klutch-bench-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const [consumer, provider] = await startClusters(2, { name: "bench", fsync: true });
  if (consumer === undefined || provider === undefined) throw new Error("two clusters were asked for");
  stack.use(provider);
  stack.use(consumer);
  for (const crd of [...bindCrds, widgetCrd])
    await provider.client.create<KubeObject>(customResourceDefinitions, crd);
  for (const crd of bindCrds) {
    if (crd.metadata.name.startsWith("apiservicebindings"))
      await consumer.client.create<KubeObject>(customResourceDefinitions, crd);
  }
  for (const name of [consumerNamespace, workNamespace]) {
    await consumer.client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
  const kubeconfig = await waitFor("the bind kinds to be served", () =>
    prepareProvider(provider.client, provider.config),
  );
  const serviceNamespace = await serveNamespace(provider.client, workNamespace);
  await createKubeconfigSecret(consumer.client, consumerNamespace, kubeconfig);
  await bindWidgets(consumer);
  const consumerKubeconfig = join(folder, "consumer.kubeconfig");
  await writeFile(consumerKubeconfig, consumer.kubeconfig, { mode: 0o600 });
  const agent = stack.use(
    await startProcess({
      name: "agent",
      command: "/bin/sh",
      args: ["-c", `exec ${agentCommand}`],
      env: { KUBECONFIG: consumerKubeconfig, POD_NAME: "bench", POD_NAMESPACE: consumerNamespace },
      logFile: join(folder, "agent.log"),
    }),
  );
  await waitFor(
    "the widget kind to be served in the app cluster",
    async () => (await consumer.client.list(widgets)) !== undefined,
    {
      timeoutMs: 60_000,
    },
  );
  const owned = stack.move();
  return {
    consumer,
    provider,
    agent,
    consumerNamespace: workNamespace,
    serviceNamespace,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function bindWidgets(consumer: TestCluster): Promise<void> {
  const binding: APIServiceBinding = {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceBinding",
    metadata: { namespace: consumerNamespace, name: widgetCrdName },
    spec: { kubeconfigSecretRef: { namespace: consumerNamespace, name: "kubeconfig", key: "kubeconfig" } },
  };
  await waitFor("the binding to be accepted", () => consumer.client.create(apiServiceBindings, binding));
}

/** Whether the agent says that the binding works; for messages when a benchmark does not get going. */
export async function bindingProblem(consumer: TestCluster): Promise<string | undefined> {
  const ref = { namespace: consumerNamespace, name: widgetCrdName };
  const { status } = await consumer.client.get<APIServiceBinding>(apiServiceBindings, ref);
  const ready = findCondition(status?.conditions, "Ready");
  return ready?.status === "True"
    ? undefined
    : `${ready?.reason}: ${ready?.message} (cluster namespace ${clusterNamespace})`;
}
