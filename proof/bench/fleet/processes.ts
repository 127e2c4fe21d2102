/** The processes that hold the fleet's app clusters, from both ends. */
import { fork } from "node:child_process";
import { askChild, decodeMessage, endChild } from "../harness/child-process.ts";
import { startWireLog } from "../harness/wire-log.ts";
import { type FleetCluster, type FleetClusterOptions, startFleetCluster } from "./app-cluster.ts";

/** A message to a process; it does all that is named. An empty one only asks for a report. */
interface Order {
  readonly start?: readonly FleetClusterOptions[];
  /** The control plane's URL, to which requests are logged. */
  readonly server?: string;
  /** App clusters whose agents end, or start again. */
  readonly leave?: readonly string[];
  readonly comeBack?: readonly string[];
  /** A change of the first claim of these app clusters. */
  readonly edit?: { readonly names: readonly string[]; readonly size: number };
  /** A field of the timed kind that all app clusters wait for. */
  readonly field?: string;
  /** A claim to make in each app cluster. */
  readonly make?: string;
  /** Counts claims, too. */
  readonly count?: boolean;
  /** Time from which on held creations are allowed. */
  readonly release?: string;
  /** Claims to time in an app cluster, one after the other. */
  readonly probe?: { readonly name: string; readonly count: number };
}

/** The answer of a process once its order is carried out. */
interface Seen {
  /** Times of the requests since the last report. */
  readonly wire: readonly number[];
  /** App clusters with a binding that is not Ready. */
  readonly unready: readonly string[];
  /** Last turn of a binding, in milliseconds since the epoch. */
  readonly turnedAt: number;
  readonly restarts: number;
  readonly probes: readonly number[];
  /** Number of app clusters that hold creations back. */
  readonly holding: number;
  /** Number of claims of the timed kind; 0 unless the order counts them. */
  readonly claims: number;
  /** Milliseconds since the epoch at which each app cluster had the field that the order names. */
  readonly fieldAt: readonly number[];
}

/** The agents of all processes together. */
export interface Fleet extends AsyncDisposable {
  /** Processes that hold them. */
  readonly pids: readonly number[];
  /** Resolves when all of these app clusters are bound. */
  start(clusters: readonly FleetClusterOptions[]): Promise<void>;
  /** Resolves to the reports of all processes when each has done what it was told. */
  tell(order: Omit<Order, "start" | "server" | "probe">): Promise<Seen>;
  /** Times claims in one app cluster. */
  probe(name: string, count: number): Promise<readonly number[]>;
}

/** Starts the processes without any app cluster. `server`: the control plane's URL. */
export async function startFleet(server: string, processes: number): Promise<Fleet> {
  await using stack = new AsyncDisposableStack();
  const children = Array.from({ length: processes }, () =>
    fork(import.meta.filename, { stdio: ["ignore", "inherit", "inherit", "ipc"] }),
  );
  for (const child of children) stack.defer(() => endChild(child));
  await Promise.all(children.map((child) => askChild<Seen>(child, { server })));
  const placed = new Map<string, (typeof children)[number]>();
  return Object.assign(stack.move(), {
    pids: children.map(({ pid }) => pid ?? 0),
    async start(clusters: readonly FleetClusterOptions[]) {
      const shares = Map.groupBy(clusters, ({ index }) => children[index % processes]);
      await Promise.all(
        shares.entries().map(async ([child, share]) => {
          if (child === undefined) return;
          for (const { name } of share) placed.set(name, child);
          await askChild<Seen>(child, { start: share });
        }),
      );
    },
    async tell(order: Order) {
      const seen = await Promise.all(children.map((child) => askChild<Seen>(child, order)));
      return {
        wire: seen.flatMap(({ wire }) => wire),
        unready: seen.flatMap(({ unready }) => unready),
        turnedAt: Math.max(...seen.map(({ turnedAt }) => turnedAt)),
        restarts: seen.reduce((sum, { restarts }) => sum + restarts, 0),
        probes: [],
        holding: seen.reduce((sum, { holding }) => sum + holding, 0),
        claims: seen.reduce((sum, { claims }) => sum + claims, 0),
        fieldAt: seen.flatMap(({ fieldAt }) => fieldAt),
      };
    },
    async probe(name: string, count: number) {
      const child = placed.get(name);
      if (child === undefined) throw new Error(`no process has the app cluster ${name}`);
      return (await askChild<Seen>(child, { probe: { name, count } })).probes;
    },
  });
}

/** A process with some of the app clusters. It does what it is ordered, one order at a time, and ends with who started it. */
function obey(): void {
  const clusters: FleetCluster[] = [];
  let takeWire: ReturnType<typeof startWireLog> | undefined;
  const named = (names: readonly string[]): readonly FleetCluster[] =>
    clusters.filter(({ name }) => names.includes(name));
  const follow = async ({
    start = [],
    server,
    leave = [],
    comeBack = [],
    edit,
    field,
    make,
    release,
    count = false,
    probe,
  }: Order): Promise<Seen> => {
    if (server !== undefined) takeWire = startWireLog(server);
    clusters.push(...(await Promise.all(start.map(startFleetCluster))));
    await Promise.all(named(leave).map((cluster) => cluster.stop()));
    if (edit !== undefined) await Promise.all(named(edit.names).map((cluster) => cluster.edit(edit.size)));
    for (const cluster of named(comeBack)) cluster.start();
    if (make !== undefined) await Promise.all(clusters.map((one) => one.make(make)));
    if (release !== undefined) await Promise.all(clusters.map((one) => one.release(release)));
    const fieldAt = field === undefined ? [] : await Promise.all(clusters.map((one) => one.hasField(field)));
    const claims = count ? await Promise.all(clusters.map((one) => one.claims())) : [];
    const [probed] = probe === undefined ? [] : named([probe.name]);
    const probes = probed === undefined ? [] : await probed.probe(probe?.count ?? 0);
    return {
      wire: takeWire?.() ?? [],
      unready: clusters.filter(({ isReady }) => !isReady).map(({ name }) => name),
      turnedAt: Math.max(0, ...clusters.map(({ turnedAt }) => turnedAt)),
      restarts: clusters.reduce((sum, one) => sum + one.restarts, 0),
      probes,
      holding: clusters.filter(({ isHolding }) => isHolding).length,
      claims: claims.reduce((sum, one) => sum + one, 0),
      fieldAt,
    };
  };
  process.on(
    "message",
    (message) => void follow(decodeMessage<Order>(message)).then((seen) => process.send?.(seen)),
  );
  process.on("disconnect", () => process.exit(0));
}

if (import.meta.main) obey();
