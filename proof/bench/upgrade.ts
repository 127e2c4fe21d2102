/**
 * `npm run bench:upgrade`: what users notice when programs end while they work. Two konnectors and two backends run; the leader is
 * told to end (SIGTERM) or killed (SIGKILL) in the midst of a burst of edits, again and again; then the API server of either side is told to
 * end and started again. `--claims 500`, `--rounds 5`, `--only words` of the lines to measure.
 */
import { ownProgram } from "@klutch/engines";
import { consumerNamespace } from "@klutch/api";
import { leases, type ObjectRef, textAt } from "@klutch/kube-core";
import { type OwnCluster, waitFor } from "@klutch/kube-testing";
import { describeLoad } from "./harness/machine.ts";
import { runBenchmark } from "./harness/program.ts";
import {
  type BoundFixture,
  startOwnBoundFixture,
  type StartedProgram,
} from "../e2e/security/bound-fixture.ts";
import { editClaims, makeLivingClaims } from "../e2e/upgrade/living-claims.ts";
import { type Measured, measureStretch } from "../e2e/upgrade/measured.ts";
import type { Traffic } from "../e2e/upgrade/traffic.ts";

/** A process that may be ended in order or not. */
interface Replica {
  readonly name: string;
  stop(): Promise<void>;
  kill(): Promise<void>;
}

const defaults = { claims: 500, rounds: 5, only: "" };

type Part = "backend" | "konnector";

const leaseOf: Readonly<Record<Part, ObjectRef>> = {
  konnector: { namespace: consumerNamespace, name: consumerNamespace },
  backend: { namespace: "klutch-backend", name: "klutch-backend" },
};

async function main({ claims, rounds, only }: typeof defaults): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const replicas = new Replicas();
  const first = replicas.nextOf("backend");
  const fixture = stack.use(await startOwnBoundFixture("Namespaced", { backend: first }));
  replicas.add("backend", first.name, fixture.backend);
  await replicas.start(fixture, "konnector");
  const names = await makeLivingClaims(fixture, { claims, secrets: Math.min(100, claims) });
  await replicas.start(fixture, "konnector");
  await replicas.start(fixture, "backend");
  const traffic = stack.use(editClaims(fixture, { names: names.slice(0, 50), serversEnd: true }));
  console.log(`${claims} claims, two replicas of each part; load ${describeLoad()}`);
  const bench: Bench = { fixture, traffic, replicas, rounds };
  for (const [title, ending] of endings) if (title.includes(only)) await measure(bench, title, ending);
}

interface Bench {
  readonly fixture: BoundFixture<OwnCluster>;
  readonly traffic: Traffic;
  readonly replicas: Replicas;
  readonly rounds: number;
}

/** A way to end the leader of a part, or the side whose API server ends and starts again. */
type Ending =
  | { readonly part: Part; readonly how: "stop" | "kill" }
  | { readonly server: "appCluster" | "controlPlane" };

const endings: readonly (readonly [title: string, ending: Ending | undefined])[] = [
  ["nothing ends", undefined],
  ["konnector, SIGTERM", { part: "konnector", how: "stop" }],
  ["konnector, SIGKILL", { part: "konnector", how: "kill" }],
  ["backend, SIGTERM", { part: "backend", how: "stop" }],
  ["backend, SIGKILL", { part: "backend", how: "kill" }],
  ["API server of the app cluster, SIGTERM", { server: "appCluster" }],
  ["API server of the control plane, SIGTERM", { server: "controlPlane" }],
];

/** Prints one line. An edit that does not come through ends the program. */
async function measure(
  { fixture, traffic, replicas, rounds }: Bench,
  title: string,
  ending: Ending | undefined,
): Promise<void> {
  const seen: Measured[] = [];
  const happens = async (): Promise<void> => {
    if (ending === undefined) return;
    if ("part" in ending) return replicas.end(fixture, ending.part, ending.how);
    const cluster = fixture[ending.server];
    await cluster.apiServer.stop();
    await cluster.restart("apiserver");
  };
  for (let round = 1; round <= rounds; round++) {
    seen.push(await measureStretch(fixture, traffic, { name: `${title} ${round}`, happens }));
    if (ending !== undefined && "part" in ending) await replicas.start(fixture, ending.part);
  }
  const sum = (count: (one: Measured) => number): number => seen.reduce((all, one) => all + count(one), 0);
  const slowest = seen.map(({ slowestMs }) => slowestMs.toFixed(0)).join(", ");
  const unready = Math.max(...seen.map(({ unreadyMs }) => unreadyMs)).toFixed(0);
  console.log(
    `${title}: ${sum(({ edits }) => edits)} edits, ${sum(({ failed }) => failed)} failed tries, none lost; ` +
      `slowest of each round ${slowest} ms; not ready ${unready} ms; ${sum(({ needless }) => needless.length)} needless writes`,
  );
}

/** The processes of both parts, by the names that they hold leases with. */
class Replicas {
  readonly #running: Record<Part, Replica[]> = { backend: [], konnector: [] };
  #starts = 0;

  nextOf(part: Part): StartedProgram {
    return { program: ownProgram(part), name: `${part}-${++this.#starts}` };
  }

  add(part: Part, name: string, { stop, kill }: Pick<Replica, "stop" | "kill">): void {
    this.#running[part].push({ name, stop, kill });
  }

  /** Starts another one, and waits until it stands by. */
  async start(fixture: BoundFixture, part: Part): Promise<void> {
    const next = this.nextOf(part);
    const started =
      part === "backend" ? await fixture.startBackend(next) : await fixture.startKonnector(next);
    this.add(part, next.name, started);
  }

  /** Ends the leader. */
  async end(fixture: BoundFixture, part: Part, how: "stop" | "kill"): Promise<void> {
    const { client } = part === "konnector" ? fixture.appCluster : fixture.controlPlane;
    const leader = await waitFor("a leader", async () => {
      const holder = textAt((await client.get(leases, leaseOf[part])).spec, "holderIdentity") ?? "";
      return this.#running[part].find(({ name }) => holder.includes(name));
    });
    this.#running[part] = this.#running[part].filter((one) => one !== leader);
    await leader[how]();
  }
}

process.exitCode = await runBenchmark(defaults, main);
