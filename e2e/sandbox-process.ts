/** The sandbox as a person starts it: what the README's command runs, in a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { removeDataHome } from "@klutch/engines";

/** A sandbox that was started. */
export interface RunningSandbox {
  readonly child: ChildProcess;
  /** What it has printed so far, errors included. */
  readonly printed: () => string;
  readonly exited: Promise<unknown>;
}

/** How to start one. */
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
  const root = tree ?? join(import.meta.dirname, "..");
  const child = spawn(process.execPath, [join(root, "apps", "sandbox", "src", "main.ts"), ...args], {
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

/** Where a sandbox in this folder keeps data of servers that do not run as root, or links to it. */
export function dataHomesIn(folder: string): readonly string[] {
  return ["postgres", "servers"].map((name) => join(folder, name));
}

/** Removes what such a sandbox left elsewhere. */
export async function removeDataOf(folder: string): Promise<void> {
  for (const home of dataHomesIn(folder)) await removeDataHome(home);
}
