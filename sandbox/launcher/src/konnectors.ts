/** Runs the konnector processes that the Deployment `klutch-bind/konnector` of an app cluster describes, as a kubelet would. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type RunningProcess, startProcess } from "@klutch/engines";
import { deployments, type DynamicObject, listAt, numberAt } from "@klutch/kube-core";
import { accountKubeconfig, type AdminCluster } from "./accounts.ts";
import { appProcess } from "./node-process.ts";
import type { Supervision } from "./supervise.ts";

const deployment = { namespace: "klutch-bind", name: "konnector" };
const account = { namespace: "klutch-bind", name: "konnector" };

/** Parts of the sandbox that konnectors need. */
export interface KonnectorContext extends Supervision {
  readonly state: { readonly folder: string };
  readonly signal: AbortSignal;
}

/**
 * Looks after one app cluster until the sandbox ends. What does not start is tried again. `pollMs`: how often the Deployment is read;
 * default 500.
 */
export async function superviseKonnectors(
  context: KonnectorContext,
  cluster: AdminCluster,
  pollMs = 500,
): Promise<void> {
  let running: readonly RunningProcess[] = [];
  let kubeconfig: string | undefined;
  let generation: number | undefined;
  while (!context.signal.aborted) {
    const object = await cluster.client.find<DynamicObject>(deployments, deployment).catch(() => undefined);
    const wanted = object?.metadata.generation;
    const died = running.some((process) => process.hasExited);
    if (wanted !== undefined && (wanted !== generation || died)) {
      await Promise.all(running.map((process) => process.stop()));
      try {
        // The account comes with the Deployment.
        kubeconfig ??= await accountKubeconfig(cluster, account, await logFolder(context), context);
        running = await startReplicas(context, cluster, object, kubeconfig);
        generation = wanted;
      } catch (error) {
        context.progress.say(`the konnector of ${cluster.config.name} did not start: ${String(error)}`);
        running = [];
        generation = undefined;
      }
    }
    const failed = died || (wanted !== undefined && generation !== wanted);
    await sleep(failed ? 5 * pollMs : pollMs, undefined, { signal: context.signal }).catch(() => undefined);
  }
  await Promise.all(running.map((process) => process.stop()));
}

async function startReplicas(
  context: KonnectorContext,
  cluster: AdminCluster,
  object: DynamicObject | undefined,
  kubeconfig: string,
): Promise<readonly RunningProcess[]> {
  const folder = await logFolder(context);
  const { args, replicas } = describeDeployment(object);
  const names = Array.from({ length: replicas }, (_, index) => `konnector-${index}`);
  return Promise.all(
    names.map(async (name) => {
      const env = { POD_NAME: name, POD_NAMESPACE: account.namespace };
      const options = appProcess("konnector", {
        name: `${cluster.config.name} ${name}`,
        args: [...expandVariables(args, env), "--probe-host=127.0.0.1", "--probe-port=0"],
        env: { ...env, KUBECONFIG: kubeconfig },
        logFile: join(folder, `${cluster.config.name}-${name}.log`),
      });
      return context.stack.use(await startProcess(options));
    }),
  );
}

async function logFolder(context: KonnectorContext): Promise<string> {
  const folder = join(context.state.folder, "konnectors");
  await mkdir(folder, { recursive: true });
  return folder;
}

/** `$(NAME)` becomes the variable's value; an unknown variable stays as it is, and `$$(NAME)` is the text `$(NAME)`, as in a kubelet. */
export function expandVariables(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): readonly string[] {
  const values = new Map(Object.entries(env));
  return args.map((arg) =>
    arg.replaceAll(/\$\$|\$\((\w+)\)/g, (found: string, name: string | undefined) =>
      name === undefined ? "$" : (values.get(name) ?? found),
    ),
  );
}

/** Arguments of the first container and the number of replicas. */
export function describeDeployment(object: DynamicObject | undefined): {
  readonly args: readonly string[];
  readonly replicas: number;
} {
  const [container] = listAt(object?.spec, "template", "spec", "containers");
  const args = listAt(container, "args").map(String);
  return { args, replicas: numberAt(object?.spec, "replicas") ?? 1 };
}
