/** The processes that hold the app clusters. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { AppClusterOptions } from "./app-cluster.ts";
import { type Answer, type Order, readAnswer, type Seen } from "./protocol.ts";

/** All of them together. */
export interface Agents extends AsyncDisposable {
  /** Resolves when each app cluster has edited its claim. */
  edit(size: number): Promise<void>;
  /** What was seen since the last call. */
  report(): Promise<Seen>;
}

/** Starts so many processes; resolves when every app cluster is ready. `server`: the control plane's URL. */
export async function startAgents(
  clusters: readonly AppClusterOptions[],
  server: string,
  processes: number,
): Promise<Agents> {
  await using stack = new AsyncDisposableStack();
  const children = Array.from({ length: processes }, () =>
    fork(join(import.meta.dirname, "agents.ts"), { stdio: ["ignore", "inherit", "inherit", "ipc"] }),
  );
  for (const child of children) stack.defer(() => end(child));
  const all = (orderOf: (index: number) => Order): Promise<readonly Answer[]> =>
    Promise.all(children.map((child, index) => ask(child, orderOf(index))));
  await all((index) => ({ start: clusters.filter((one) => one.index % processes === index), server }));
  const owned = stack.move();
  return {
    async edit(size) {
      await all(() => ({ edit: size }));
    },
    async report() {
      const answers = await all(() => ({ report: true }));
      const seen = answers.flatMap((answer) => ("seen" in answer ? [answer.seen] : []));
      return {
        wire: seen.flatMap(({ wire }) => wire),
        turns: Object.fromEntries(seen.flatMap(({ turns }) => Object.entries(turns))),
        restarts: seen.reduce((sum, { restarts }) => sum + restarts, 0),
      };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function ask(child: ChildProcess, order: Order): Promise<Answer> {
  const stop = new AbortController();
  const { signal } = stop;
  try {
    const answered = once(child, "message", { signal }).then(([message]: readonly unknown[]) =>
      readAnswer(message),
    );
    const ended = once(child, "exit", { signal }).then(([code]: readonly unknown[]): never => {
      throw new Error(`a process with app clusters ended with code ${String(code)}`);
    });
    // The other one of the two is given up.
    for (const one of [answered, ended]) one.catch(() => undefined);
    child.send(order);
    const answer = await Promise.race([answered, ended]);
    if ("failed" in answer) throw new Error(answer.failed);
    return answer;
  } finally {
    stop.abort();
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.disconnect();
  await exited;
}
