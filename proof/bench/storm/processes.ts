/** The processes that hold the app clusters. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { AppClusterOptions } from "./app-cluster.ts";
import { type Answer, decode, type Order, type Seen } from "./protocol.ts";

/** The agents of all processes together. */
export interface Agents extends AsyncDisposable {
  /** Resolves when each app cluster has edited its claim. */
  edit(size: number): Promise<void>;
  /** Returns the reports of all processes since the last call. */
  report(): Promise<Seen>;
}

/** Starts `processes` child processes; resolves when every app cluster is ready. `server`: the control plane's URL. */
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
  const all = (orderOf: (index: number) => Order): Promise<readonly Seen[]> =>
    Promise.all(children.map((child, index) => ask(child, orderOf(index))));
  await all((index) => ({ start: clusters.filter((one) => one.index % processes === index), server }));
  const owned = stack.move();
  return {
    async edit(size) {
      await all(() => ({ edit: size }));
    },
    async report() {
      const seen = await all(() => ({ report: true }));
      return {
        wire: seen.flatMap(({ wire }) => wire),
        turns: Object.fromEntries(seen.flatMap(({ turns }) => Object.entries(turns))),
        restarts: seen.reduce((sum, { restarts }) => sum + restarts, 0),
      };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Sends an order; resolves with the answer. Throws when the process fails, or ends instead. */
async function ask(child: ChildProcess, order: Order): Promise<Seen> {
  const stop = new AbortController();
  const { signal } = stop;
  const answered = once(child, "message", { signal }).then(([message]) => decode<Answer>(message));
  const ended = once(child, "exit", { signal }).then(([code]): never => {
    throw new Error(`a process with app clusters ended with code ${String(code)}`);
  });
  // The other one of the two is given up.
  for (const one of [answered, ended]) one.catch(() => undefined);
  child.send(order);
  try {
    const answer = await Promise.race([answered, ended]);
    if ("failed" in answer) throw new Error(answer.failed);
    return answer.seen;
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
