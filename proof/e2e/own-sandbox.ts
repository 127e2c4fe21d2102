/**
 * The sandbox as a person starts it: the README's command, in a process of its own. `startOwnSandbox` gives one to a test file or run: in a
 * temporary folder of its own, used once it is up, and gone afterwards.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cacheFolder, removeDataHome, watchedArguments } from "@klutch/engines";
import { deployments } from "@klutch/kube-core";
import { createKubeClient, type KubeClient, type KubeClientOptions, loadKubeconfig } from "@klutch/kube";
import { untilServed, waitFor } from "@klutch/kube-testing";
import { bindApis, boundApiName, type CliFiles, dataHomes } from "@klutch/launcher";
import { describeEnds, ServerEnds } from "./sandbox-ends.ts";

/** Disposing it ends the sandbox and removes everything that it made. */
export interface OwnSandbox extends AsyncDisposable {
  /** Folder that is removed with the sandbox, with everything that a test puts into it. It is also the home of the user. */
  readonly root: string;
  /** Kubeconfigs, logs and state of the sandbox. */
  readonly folder: string;
  readonly pid: number;
  /** Returns everything that it has printed so far, including errors. */
  readonly printed: () => string;
  /** Returns which of its servers have ended by themselves, with the end of each log, without secrets; empty if none has. */
  readonly ends: () => Promise<string>;
  /** A client of the cluster's administrator, which ends with the sandbox. */
  client(cluster: "control-plane" | "app-a" | "app-b", options?: KubeClientOptions): Promise<KubeClient>;
  /** Binds APIs of these resources, of which some are called with their group, to app cluster A, as a person does, one after the other; once each. */
  bind(...plurals: readonly string[]): Promise<void>;
}

/** Starts it without the demo, with further flags; `name` is for its folder. Throws with its output when it does not come up. */
export async function startOwnSandbox(name: string, ...flags: readonly string[]): Promise<OwnSandbox> {
  await using stack = new AsyncDisposableStack();
  const { path: root } = stack.use(await mkdtempDisposable(join(tmpdir(), `klutch-${name}-`)));
  const folder = join(root, "sandbox");
  stack.defer(() => removeDataOf(folder));
  const env = { ...process.env, HOME: root, KLUTCH_STATE_DIR: folder, KLUTCH_CACHE_DIR: cacheFolder };
  const sandbox = stack.use(await startAt({ root, folder, env }, ...flags));
  const owned = stack.move();
  return { ...sandbox, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** The folders of a sandbox, as `OwnSandbox` has them, and the environment in which it starts. */
export interface SandboxPlace extends Pick<OwnSandbox, "root" | "folder"> {
  readonly env: NodeJS.ProcessEnv;
}

/** Starts it like `startOwnSandbox`, but at a place that the caller made and removes; it continues with existing state. */
export async function startAt(
  { root, folder, env }: SandboxPlace,
  ...flags: readonly string[]
): Promise<OwnSandbox> {
  await using stack = new AsyncDisposableStack();
  const sandbox = startSandbox({ env, args: ["--no-demo", ...flags] });
  stack.defer(async () => {
    sandbox.child.kill("SIGINT");
    await sandbox.exited;
  });
  const ends = (): Promise<string> => describeEnds(sandbox.ends, folder);
  await untilUp(sandbox, ends);
  const bound = new Set<string>();
  let binding: Promise<unknown> = Promise.resolve();
  const owned = stack.move();
  return {
    root,
    folder,
    pid: sandbox.child.pid ?? 0,
    printed: sandbox.printed,
    ends,
    async client(cluster, options) {
      const path = join(folder, `${cluster}.kubeconfig`);
      return owned.use(createKubeClient(await loadKubeconfig({ path }), options));
    },
    bind(...plurals) {
      const bindAll = async (): Promise<void> => {
        const wanted = plurals.filter((one) => !bound.has(one));
        if (wanted.length === 0) return;
        await bindApis(cliFilesIn(folder), "appA", backendUrlIn(sandbox.printed()), wanted);
        // The plugin ends before the konnector has brought the kinds.
        const path = join(folder, "app-a.kubeconfig");
        await using appA = createKubeClient(await loadKubeconfig({ path }));
        for (const plural of wanted) await untilServed(appA, boundApiName(plural));
        for (const plural of wanted) bound.add(plural);
      };
      const done = binding.then(bindAll);
      binding = done.catch(() => undefined);
      return done;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function untilUp({ child, printed }: RunningSandbox, ends: OwnSandbox["ends"]): Promise<void> {
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const isUp = (): boolean => printed().includes("Klutch is up.");
  const wait = waitFor("the sandbox to be up", () => hasEnded() || isUp(), { timeoutMs: 300_000 });
  const cause: unknown = await wait.catch((error: unknown) => error);
  if (!isUp()) throw new Error(`the sandbox is not up:\n${printed()}${await ends()}`, { cause });
}

/** A sandbox that was started. */
export interface RunningSandbox {
  readonly child: ChildProcess;
  /** Returns everything that it has printed so far, including errors. */
  readonly printed: () => string;
  /** The servers that it reports as ended, in all that it prints. */
  readonly ends: ServerEnds;
  readonly exited: Promise<unknown>;
}

/** Options of `startSandbox`. */
export interface SandboxOptions {
  /** Its whole environment. */
  readonly env: NodeJS.ProcessEnv;
  readonly args: readonly string[];
  /** Checkout to run. Default: this one. */
  readonly tree?: string | undefined;
  /** Default: those of this process. */
  readonly identity?: { readonly uid: number; readonly gid: number } | undefined;
}

/** Starts it; does not wait for anything. It ends with this process, also when that one is killed. */
export function startSandbox({ env, args, tree, identity }: SandboxOptions): RunningSandbox {
  const root = tree ?? join(import.meta.dirname, "..", "..");
  const program = [join(root, "sandbox", "launcher", "src", "main.ts"), ...args];
  const child = spawn("/bin/sh", watchedArguments("sandbox", process.execPath, program), {
    cwd: root,
    detached: true,
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    env,
    ...identity,
  });
  let printed = "";
  const ends = new ServerEnds();
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      printed += chunk.toString();
      ends.take(chunk.toString());
    });
  }
  child.on("exit", () => child.stdio[3]?.destroy());
  return { child, printed: () => printed, ends, exited: once(child, "exit") };
}

/**
 * Lets the konnector delete however many claims go within a minute. The people of a suite clean up at the same time, each a claim or
 * two of the same APIs; together they look like the accident that the konnector holds by default.
 */
export async function allowManyDeletions(appA: KubeClient): Promise<void> {
  const konnector = { namespace: "klutch-bind", name: "konnector" };
  const path = "/spec/template/spec/containers/0/args/-";
  await appA.jsonPatch(deployments, konnector, [{ op: "add", path, value: "--mass-deletion-limit=0" }]);
}

/** Removes the data that a sandbox in this folder keeps elsewhere, because its servers do not run as root. */
export async function removeDataOf(folder: string): Promise<void> {
  for (const home of dataHomes(folder)) await removeDataHome(home);
}

/** Commands and kubeconfigs of a sandbox in this folder that is up. */
export function cliFilesIn(folder: string): CliFiles {
  const kubeconfig = (cluster: string): string => join(folder, `${cluster}.kubeconfig`);
  return {
    bin: join(folder, "bin"),
    kubeconfigs: {
      controlPlane: kubeconfig("control-plane"),
      appA: kubeconfig("app-a"),
      appB: kubeconfig("app-b"),
    },
  };
}

/** Returns the backend's address from the output of a sandbox that is up. */
export function backendUrlIn(printed: string): string {
  const url = /binding page +(http\S+)\/export/.exec(printed)?.[1];
  if (url === undefined) throw new Error(`the sandbox named no binding page:\n${printed}`);
  return url;
}
