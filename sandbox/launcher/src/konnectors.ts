/** Runs the konnector processes that the Deployment `klutch-bind/konnector` of an app cluster describes, as a kubelet would. */
import { accountKubeconfig, type AdminCluster } from "./context.ts";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { deployments, type DynamicObject, listAt, numberAt } from "@klutch/kube-core";
import { Informer, untilAborted } from "@klutch/kube-runtime";
import { keepApp, type Supervision } from "./supervise.ts";

/** Namespace and name of the Deployment, and of its account. */
const konnector = { namespace: "klutch-bind", name: "konnector" };

/** Parts of the sandbox that konnectors need. */
export interface KonnectorContext extends Supervision {
  /** `ports`: where replicas serve metrics, by cluster and name; others choose one. */
  readonly state: { readonly folder: string; readonly ports?: Readonly<Record<string, number>> };
  readonly signal: AbortSignal;
}

/**
 * Looks after one app cluster until the signal aborts; the processes end with the stack. A failed start is tried again after `retryMs`;
 * default 2500.
 */
export async function superviseKonnectors(
  { state, progress, stack, signal }: KonnectorContext,
  cluster: AdminCluster,
  retryMs = 2_500,
): Promise<void> {
  const folder = join(state.folder, "konnectors");
  let replicas = new AsyncDisposableStack();
  stack.defer(() => replicas.disposeAsync());
  const seen = stack.use(
    new Informer<DynamicObject>({
      client: cluster.client,
      type: deployments,
      namespace: konnector.namespace,
      fieldSelector: `metadata.name=${konnector.name}`,
    }),
  );
  let changed = Promise.withResolvers<void>();
  seen.onChange(() => changed.resolve());
  seen.start({ signal });
  const aborted = untilAborted(signal);
  let generation: number | undefined;
  while (!signal.aborted) {
    changed = Promise.withResolvers<void>();
    const [object] = seen.list();
    const wanted = object?.metadata.generation ?? generation;
    if (wanted !== generation) {
      await replicas.disposeAsync();
      replicas = new AsyncDisposableStack();
      try {
        await startReplicas({ progress, stack: replicas, state }, cluster, folder, object);
        generation = wanted;
      } catch (error) {
        progress.say(`the konnector of ${cluster.config.name} did not start: ${String(error)}`);
        generation = undefined;
      }
    }
    if (wanted === generation) await Promise.race([changed.promise, aborted]);
    else await sleep(retryMs, undefined, { signal }).catch(() => undefined);
  }
}

type Replicas = Supervision & Pick<KonnectorContext, "state">;

async function startReplicas(by: Replicas, cluster: AdminCluster, folder: string, object?: DynamicObject) {
  // The account comes with the Deployment.
  const kubeconfig = await accountKubeconfig(cluster, konnector, folder);
  const { args, replicas } = describeDeployment(object);
  for (let index = 0; index < replicas; index++) {
    const name = `konnector-${index}`;
    const title = `${cluster.config.name} ${name}`;
    const port = by.state.ports?.[title] ?? 0;
    const env = { POD_NAME: name, POD_NAMESPACE: konnector.namespace };
    await keepApp(by, "konnector", {
      name: title,
      args: [...expandVariables(args, env), "--probe-host=127.0.0.1", `--probe-port=${port}`],
      env: { ...env, KUBECONFIG: kubeconfig },
      logFile: join(folder, `${cluster.config.name}-${name}.log`),
    });
  }
}

/** Replaces `$(NAME)` by the variable's value; an unknown variable stays as it is, and `$$(NAME)` is the text `$(NAME)`, as in a kubelet. */
export function expandVariables(args: readonly string[], env: Readonly<Record<string, string>>): string[] {
  const values = new Map(Object.entries(env));
  return args.map((arg) =>
    arg.replaceAll(/\$\$|\$\((\w+)\)/g, (found: string, name: string | undefined) =>
      name === undefined ? "$" : (values.get(name) ?? found),
    ),
  );
}

/** Returns the arguments of the first container and the number of replicas. */
export function describeDeployment(object?: DynamicObject): { args: readonly string[]; replicas: number } {
  const [container] = listAt(object?.spec, "template", "spec", "containers");
  const args = listAt(container, "args").map(String);
  return { args, replicas: numberAt(object?.spec, "replicas") ?? 1 };
}
