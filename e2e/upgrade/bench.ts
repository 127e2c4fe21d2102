/**
 * `npm run bench:upgrade`: what users notice when programs end while they work. Two konnectors and two backends run; the one that leads is
 * told to end (SIGTERM) or killed (SIGKILL) in the midst of a burst of edits, again and again. `--claims 500`, `--rounds 5`.
 */
import { availableParallelism, cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { join } from "node:path";
import { consumerNamespace } from "@klutch/api";
import { leases, type ObjectRef, textAt } from "@klutch/kube-core";
import { exitCodeOf, waitFor, wholeNumber } from "@klutch/kube-testing";
import { type BoundWorld, databases, startBoundWorld, type StartedProgram } from "../security/bound-world.ts";
import { makeLivingClaims, namespace, serviceNamespace, useNewNamespace } from "./living-claims.ts";
import { type Seen, startTraffic, type Traffic } from "./traffic.ts";
import { lookAtAll, writtenBetween } from "./written.ts";

/** A process that may be ended in order or not. */
interface Replica {
  readonly name: string;
  stop(): Promise<void>;
  kill(): Promise<void>;
}

type Part = "backend" | "konnector";

const apps = join(import.meta.dirname, "..", "..", "apps");
const leaseOf: Readonly<Record<Part, ObjectRef>> = {
  konnector: { namespace: consumerNamespace, name: consumerNamespace },
  backend: { namespace: "klutch-backend", name: "klutch-backend" },
};

async function main(): Promise<number> {
  const { values } = parseArgs({
    args: process.argv.slice(2).filter((argument) => argument !== "--"),
    options: { claims: { type: "string", default: "500" }, rounds: { type: "string", default: "5" } },
  });
  const claims = wholeNumber("claims", values.claims);
  const rounds = wholeNumber("rounds", values.rounds);
  console.log(`machine ${availableParallelism()} × ${cpus()[0]?.model}, Node ${process.version}`);
  await using stack = new AsyncDisposableStack();
  const replicas = new Replicas();
  const first = replicas.nextOf("backend");
  const world = stack.use(await startBoundWorld("Namespaced", { backend: first }));
  replicas.add("backend", first.name, world.backend);
  await replicas.start(world, "konnector");
  const names = await makeLivingClaims(world, { claims, secrets: Math.min(100, claims) });
  await replicas.start(world, "konnector");
  await replicas.start(world, "backend");
  const { client: consumer } = world.appCluster;
  const { client: provider } = world.controlPlane;
  const options = { consumer, provider, type: databases, namespace, serviceNamespace };
  const traffic = stack.use(startTraffic({ ...options, names: names.slice(0, 50) }));
  console.log(`${claims} claims, two replicas of each part; load ${load()}`);
  const bench: Bench = { world, traffic, replicas, rounds };
  await measure(bench, "nothing ends", undefined);
  await measure(bench, "konnector, SIGTERM", { part: "konnector", how: "stop" });
  await measure(bench, "konnector, SIGKILL", { part: "konnector", how: "kill" });
  await measure(bench, "backend, SIGTERM", { part: "backend", how: "stop" });
  await measure(bench, "backend, SIGKILL", { part: "backend", how: "kill" });
  console.log(`load ${load()}`);
  return 0;
}

/** What is measured with. */
interface Bench {
  readonly world: BoundWorld;
  readonly traffic: Traffic;
  readonly replicas: Replicas;
  readonly rounds: number;
}

/** How the leader of a part ends. */
interface Ending {
  readonly part: Part;
  readonly how: "stop" | "kill";
}

/** Prints one line. An edit that fails ends the program. */
async function measure(
  { world, traffic, replicas, rounds }: Bench,
  title: string,
  ending: Ending | undefined,
): Promise<void> {
  const seen: Seen[] = [];
  let needless = 0;
  for (let round = 1; round <= rounds; round++) {
    const before = await lookAtAll(world);
    const edits = new Map(traffic.edits);
    traffic.go();
    await untilEdited(traffic, 20);
    if (ending !== undefined) await replicas.end(world, ending);
    await useNewNamespace(world, `${title.toLowerCase().replaceAll(/[ ,]+/g, "-")}-${round}`);
    await untilEdited(traffic, 20);
    seen.push(await traffic.settle());
    const made = new Map(traffic.edits.entries().map(([name, all]) => [name, all - (edits.get(name) ?? 0)]));
    needless += writtenBetween(before, await lookAtAll(world), made).needless.length;
    if (ending !== undefined) await replicas.start(world, ending.part);
  }
  const slowest = seen.map(({ slowestMs }) => slowestMs.toFixed(0)).join(", ");
  const sum = seen.reduce((all, one) => all + one.edits, 0);
  const unready = Math.max(...seen.map(({ unreadyMs }) => unreadyMs)).toFixed(0);
  console.log(
    `${title}: ${sum} edits, none failed; slowest of each round ${slowest} ms; not ready ${unready} ms; ${needless} needless writes`,
  );
}

/** The processes of both parts, by the names that they hold leases with. */
class Replicas {
  readonly #running: Record<Part, Replica[]> = { backend: [], konnector: [] };
  #starts = 0;

  nextOf(part: Part): StartedProgram {
    return { program: join(apps, part, "src", "main.ts"), name: `${part}-${++this.#starts}` };
  }

  add(part: Part, name: string, { stop, kill }: Pick<Replica, "stop" | "kill">): void {
    this.#running[part].push({ name, stop, kill });
  }

  /** Starts another one, and waits until it stands by. */
  async start(world: BoundWorld, part: Part): Promise<void> {
    const next = this.nextOf(part);
    const started = part === "backend" ? await world.startBackend(next) : await world.startKonnector(next);
    this.add(part, next.name, started);
  }

  /** Ends the one that leads. */
  async end(world: BoundWorld, { part, how }: Ending): Promise<void> {
    const { client } = part === "konnector" ? world.appCluster : world.controlPlane;
    const leader = await waitFor("a leader", async () => {
      const holder = textAt((await client.get(leases, leaseOf[part])).spec, "holderIdentity") ?? "";
      return this.#running[part].find(({ name }) => holder.includes(name));
    });
    this.#running[part] = this.#running[part].filter((one) => one !== leader);
    await leader[how]();
  }
}

async function untilEdited({ edits }: Traffic, more: number): Promise<void> {
  const sum = (): number => edits.values().reduce((all, one) => all + one, 0);
  const enough = sum() + more;
  await waitFor("some more edits", () => sum() >= enough, { timeoutMs: 120_000 });
}

/** Of the last minute. */
function load(): string {
  return (loadavg()[0] ?? 0).toFixed(1);
}

process.exitCode = await exitCodeOf(main);
