/** The processes that hold the app clusters, from both ends. */
import { fork } from "node:child_process";
import { askChild, decodeMessage, endChild } from "../harness/child-process.ts";
import { type AppCluster, type AppClusterOptions, startAppCluster, type Turn } from "./app-cluster.ts";
import { startWireLog } from "../harness/wire-log.ts";

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
  for (const child of children) stack.defer(() => endChild(child));
  await Promise.all(
    children.map((child, index) =>
      askChild<Seen>(child, { start: clusters.filter((one) => one.index % processes === index), server }),
    ),
  );
  return Object.assign(stack.move(), {
    async tell(order: Order) {
      const seen = await Promise.all(children.map((child) => askChild<Seen>(child, order)));
      return {
        wire: seen.flatMap(({ wire }) => wire),
        turns: Object.fromEntries(seen.flatMap(({ turns }) => Object.entries(turns))),
        restarts: seen.reduce((sum, { restarts }) => sum + restarts, 0),
      };
    },
  });
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
    (message) => void follow(decodeMessage<Order>(message)).then((seen) => process.send?.(seen)),
  );
  process.on("disconnect", () => process.exit(0));
}

if (import.meta.main) obey();
