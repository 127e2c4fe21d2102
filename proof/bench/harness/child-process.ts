/** Orders to child processes of a benchmark, one at a time, and their answers. Both ends are the same program, so a message is what it says. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

/** Sends an order; resolves with the answer. Throws when the process ends instead, as it does when it fails. */
export async function askChild<Answer>(child: ChildProcess, order: object): Promise<Answer> {
  const stop = new AbortController();
  const answered = once(child, "message", stop).then(([message]) => decodeMessage<Answer>(message));
  const ended = once(child, "exit", stop).then(([code]): never => {
    throw new Error(`a process with app clusters ended with code ${String(code)}`);
  });
  // The other one of the two is given up.
  for (const one of [answered, ended]) one.catch(() => undefined);
  child.send(order);
  try {
    return await Promise.race([answered, ended]);
  } finally {
    stop.abort();
  }
}

/** Ends a process by closing its channel; resolves when it is gone. */
export async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.disconnect();
  await exited;
}

/** Returns the message of one of our own processes. */
export function decodeMessage<T>(message: unknown): T {
  return message as T;
}
