/** Starts the servers of a cluster in its namespaces. */
import { type RunningProcess, startProcess } from "@klutch/engines";
import type { KubeClient } from "@klutch/kube";
import { askEtcd, etcdAddress, etcdArguments } from "@klutch/kube-testing";
import { type Command, type Input, run } from "./command.ts";
import { masqueradeRules } from "./config/containerd.ts";
import {
  apiServerArguments,
  controllerManagerArguments,
  kubeletArguments,
  schedulerArguments,
} from "./config/servers.ts";
import type { Namespaces } from "./namespaces.ts";
import type { ClusterPlan } from "./prepare.ts";

/** Where, and for whom. */
export interface ServerContext {
  readonly plan: ClusterPlan;
  readonly namespaces: Namespaces;
  readonly client: KubeClient;
  readonly apiServerArgs: readonly string[];
}

/** etcd, then the API server; ready means that it answers as ready. */
export async function startApi(context: ServerContext): Promise<readonly RunningProcess[]> {
  const { plan, client, apiServerArgs } = context;
  const { files, programs, node } = plan;
  const etcd = await start(
    context,
    "etcd",
    { command: programs.etcd, args: etcdArguments(false) },
    async () => {
      return (await askEtcd(files.folder, "/health")) !== "";
    },
  );
  const args = apiServerArguments(files, { address: node.address, etcd: etcdAddress, more: apiServerArgs });
  const command = { command: programs.kubeApiserver, args };
  const apiServer = await start(context, "kube-apiserver", command, async () => {
    await client.request({ method: "GET", path: "/readyz" });
    return true;
  });
  return [etcd, apiServer];
}

/** containerd; ready means that it answers. */
export async function startContainerd(context: ServerContext): Promise<RunningProcess> {
  const { files, programs } = context.plan;
  const command = {
    command: programs.runtime.path("containerd"),
    args: ["--config", files.containerd.config],
  };
  return start(context, "containerd", command, async () => {
    await runWith(context, { command: programs.runtime.path("ctr"), args: ["version"] });
    return true;
  });
}

/** What asks the API server for work: controllers, scheduler, kubelet and the proxy of Services. */
export async function startWorkers(context: ServerContext): Promise<readonly RunningProcess[]> {
  const { files, programs, node, nodeName } = context.plan;
  const nft = { command: programs.runtime.path("nft"), args: ["-f", "-"] };
  await runWith(context, nft, masqueradeRules);
  const commands: Readonly<Record<string, Command>> = {
    "kube-controller-manager": {
      command: programs.kubeControllerManager,
      args: controllerManagerArguments(files),
    },
    "kube-scheduler": { command: programs.kubeScheduler, args: schedulerArguments(files) },
    kubelet: {
      command: programs.kubelet,
      args: kubeletArguments(files, { name: nodeName, address: node.address }),
    },
    "kube-proxy": { command: programs.kubeProxy, args: [`--config=${files.proxyConfig}`] },
  };
  return Promise.all(Object.entries(commands).map(([name, command]) => start(context, name, command)));
}

/** Runs a program of the node's inside. */
export function runWith(
  { plan, namespaces }: Pick<ServerContext, "plan" | "namespaces">,
  { command, args }: Command,
  input?: Input,
): Promise<string> {
  return run(namespaces.enter({ command, args, env: plan.programs.runtime.env }), input);
}

function start(
  { plan, namespaces }: ServerContext,
  name: string,
  command: Command,
  ready?: () => Promise<boolean>,
): Promise<RunningProcess> {
  const entering = namespaces.enter(command, plan.files.folder);
  return startProcess({
    name: `${plan.name} ${name}`,
    command: entering.command,
    args: entering.args,
    env: plan.programs.runtime.env,
    logFile: plan.files.log(name),
    ready,
  });
}
