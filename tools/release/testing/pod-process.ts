/** The program of a Pod, started by a script that runs in the Pod's namespaces. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { listAt, recordAt, textAt } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import type { Pod } from "./namespaces.ts";

/** A program that runs, and what it has written. */
export interface PodProcess {
  readonly output: () => string;
  /** Asks it to end, and checks that it does so in order. */
  end(): Promise<void>;
}

/** Returns the Pod that `runBeside` passed on. */
export function podOfArguments(): Pod {
  const value: unknown = JSON.parse(process.argv[2] ?? "");
  const texts = Object.entries(recordAt(value, "env")).map(([name, text]) => [name, String(text)] as const);
  return {
    root: textAt(value, "root") ?? "",
    user: textAt(value, "user") ?? "",
    entrypoint: listAt(value, "entrypoint").map(String),
    env: Object.fromEntries(texts),
  };
}

/** Starts it, and waits until `url` answers with 200. */
export async function startPod(pod: Pod, url: string): Promise<PodProcess> {
  const { root, entrypoint, env, user } = pod;
  const child = spawn("/usr/sbin/chroot", [`--userspec=${user}`, root, ...entrypoint], { env: { ...env } });
  const output = collect(child);
  try {
    await waitFor(`${url} answers`, async () => {
      assert.equal(child.exitCode, null, "it has ended");
      return (await fetch(url)).status === 200;
    });
  } catch (cause) {
    throw new Error(`the program does not answer: ${output()}`, { cause });
  }
  return {
    output,
    async end() {
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      assert.deepEqual(await exited, [0, null], output());
    },
  };
}

function collect(child: ChildProcess): () => string {
  const parts: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (chunk: Buffer) => parts.push(chunk.toString()));
  return () => parts.join("");
}
