/** Runs the konnector processes that the Deployment `klutch-bind/konnector` of an app cluster describes, as a kubelet would. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { RunningProcess } from "@klutch/engines";
import { type DynamicObject, isRecord } from "@klutch/kube";
import type { TestCluster } from "@klutch/kube-testing";
import { accountKubeconfig } from "./accounts.ts";
import { startApp } from "./node-process.ts";
import type { World } from "./world.ts";

const deployments = {
  group: "apps",
  version: "v1",
  plural: "deployments",
  kind: "Deployment",
  namespaced: true,
};
const deployment = { namespace: "klutch-bind", name: "konnector" };
const account = { namespace: "klutch-bind", name: "konnector" };
const pollMs = 500;

/** Looks after one app cluster until the sandbox ends. */
export async function superviseKonnectors(world: World, cluster: TestCluster): Promise<void> {
  let running: readonly RunningProcess[] = [];
  let generation: number | undefined;
  while (!world.signal.aborted) {
    const object = await cluster.client.find<DynamicObject>(deployments, deployment).catch(() => undefined);
    const wanted = object?.metadata.generation;
    const died = running.some((process) => process.hasExited);
    if (wanted !== undefined && (wanted !== generation || died)) {
      await Promise.all(running.map((process) => process.stop()));
      running = await startReplicas(world, cluster, object).catch((error: unknown) => {
        world.progress.say(`the konnector of ${cluster.config.name} did not start: ${String(error)}`);
        return [];
      });
      generation = wanted;
    }
    await sleep(died ? 5 * pollMs : pollMs, undefined, { signal: world.signal }).catch(() => undefined);
  }
  await Promise.all(running.map((process) => process.stop()));
}

async function startReplicas(
  world: World,
  cluster: TestCluster,
  object: DynamicObject | undefined,
): Promise<readonly RunningProcess[]> {
  const folder = join(world.state.folder, "konnectors");
  await mkdir(folder, { recursive: true });
  const kubeconfig = await accountKubeconfig(cluster, account, folder, world.stack);
  const { args, replicas } = describe(object);
  const names = Array.from({ length: replicas }, (_, index) => `konnector-${index}`);
  return Promise.all(
    names.map(async (name) => {
      const env = { POD_NAME: name, POD_NAMESPACE: account.namespace };
      const expanded = args.map((arg) =>
        arg.replaceAll(
          /\$\((\w+)\)/g,
          (_, variable: string) => new Map(Object.entries(env)).get(variable) ?? "",
        ),
      );
      const process = await startApp("konnector", {
        name: `${cluster.config.name} ${name}`,
        args: [...expanded, "--probe-host=127.0.0.1", "--probe-port=0"],
        env: { ...env, KUBECONFIG: kubeconfig },
        logFile: join(folder, `${cluster.config.name}-${name}.log`),
      });
      return world.stack.use(process);
    }),
  );
}

/** Arguments of the first container and the number of replicas. */
function describe(object: DynamicObject | undefined): {
  readonly args: readonly string[];
  readonly replicas: number;
} {
  const spec = isRecord(object?.spec) ? object.spec : {};
  const template =
    isRecord(spec["template"]) && isRecord(spec["template"]["spec"]) ? spec["template"]["spec"] : {};
  const containers: readonly unknown[] = Array.isArray(template["containers"]) ? template["containers"] : [];
  const container = containers[0];
  const args = isRecord(container) && Array.isArray(container["args"]) ? container["args"].map(String) : [];
  return { args, replicas: typeof spec["replicas"] === "number" ? spec["replicas"] : 1 };
}
