/** The processes that hold the app clusters, from both ends. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { type AppCluster, type AppClusterOptions, startAppCluster, type Turn } from "./app-cluster.ts";
import { startWireLog } from "./wire-log.ts";

/** A message to a process; it does all that is named. An empty one only asks for a report. */
interface Order {
  /** App clusters to start, and the control plane's URL. */
  readonly start?: readonly AppClusterOptions[];
  readonly server?: string;
  /** Size that each app cluster gives to its edited claim. */
  readonly edit?: number;
}

/** The figures of one or more processes; the answer of a process once its order is carried out. */
interface Seen {
  /** Times of the requests since the last report. */
  readonly wire: readonly number[];
  /** Turns by app cluster. */
  readonly turns: Readonly<Record<string, readonly Turn[]>>;
  readonly restarts: number;
}

/** The agents of all processes together. */
export interface Agents extends AsyncDisposable {
  /** Resolves to the reports of all processes when each has done what it was told. */
  tell(order: Order): Promise<Seen>;
}

/** Starts `processes` child processes; resolves when every app cluster is ready. `server`: the control plane's URL. */
export async function startAgents(
  clusters: readonly AppClusterOptions[],
  server: string,
  processes: number,
): Promise<Agents> {
  await using stack = new AsyncDisposableStack();
  const children = Array.from({ length: processes }, () =>
    fork(import.meta.filename, { stdio: ["ignore", "inherit", "inherit", "ipc"] }),
  );
  for (const child of children) stack.defer(() => end(child));
  await Promise.all(
    children.map((child, index) =>
      ask(child, { start: clusters.filter((one) => one.index % processes === index), server }),
    ),
  );
  return Object.assign(stack.move(), {
    async tell(order: Order) {
      const seen = await Promise.all(children.map((child) => ask(child, order)));
      return {
        wire: seen.flatMap(({ wire }) => wire),
        turns: Object.fromEntries(seen.flatMap(({ turns }) => Object.entries(turns))),
        restarts: seen.reduce((sum, { restarts }) => sum + restarts, 0),
      };
    },
  });
}

/** Sends an order; resolves with the answer. Throws when the process ends instead, as it does when it fails. */
async function ask(child: ChildProcess, order: Order): Promise<Seen> {
  const stop = new AbortController();
  const answered = once(child, "message", stop).then(([message]) => decode<Seen>(message));
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

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.disconnect();
  await exited;
}

/** Returns the message of one of our own processes: both ends are this program. */
function decode<T extends Order | Seen>(message: unknown): T {
  return message as T;
}

/** A process with some of the app clusters. It does what it is ordered, one order at a time, and ends with who started it. */
function obey(): void {
  const clusters: AppCluster[] = [];
  let takeWire: ReturnType<typeof startWireLog> | undefined;
  const follow = async ({ start = [], server, edit }: Order): Promise<Seen> => {
    if (server !== undefined) takeWire = startWireLog(server);
    clusters.push(...(await Promise.all(start.map(startAppCluster))));
    if (edit !== undefined) await Promise.all(clusters.map((cluster) => cluster.edit(edit)));
    const turns = Object.fromEntries(clusters.map(({ name, turns: all }) => [name, all]));
    const restarts = clusters.reduce((sum, one) => sum + one.restarts, 0);
    return { wire: takeWire?.() ?? [], turns, restarts };
  };
  process.on(
    "message",
    (message) => void follow(decode<Order>(message)).then((seen) => process.send?.(seen)),
  );
  process.on("disconnect", () => process.exit(0));
}

if (import.meta.main) obey();
