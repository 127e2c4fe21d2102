/** Runs the sandbox as a person starts it: the README's command, in a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { removeDataHome } from "@klutch/engines";
import { type CliFiles, dataHomes } from "@klutch/launcher";

/** A sandbox that was started. */
export interface RunningSandbox {
  readonly child: ChildProcess;
  /** Returns everything that it has printed so far, including errors. */
  readonly printed: () => string;
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

/** Starts it; does not wait for anything. */
export function startSandbox({ env, args, tree, identity }: SandboxOptions): RunningSandbox {
  const root = tree ?? join(import.meta.dirname, "..", "..");
  const child = spawn(process.execPath, [join(root, "sandbox", "launcher", "src", "main.ts"), ...args], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    env,
    ...identity,
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  return { child, printed: () => printed, exited: once(child, "exit") };
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
