/**
 * `npm run bench:upgrade`: what users notice when programs end while they work. Two konnectors and two backends run; the leader is
 * told to end (SIGTERM) or killed (SIGKILL) in the midst of a burst of edits, again and again; then the API server of either side is told to
 * end and started again. `--claims 500`, `--rounds 5`, `--only words` of the lines to measure.
 */
import { ownProgram } from "@klutch/engines";
import { consumerNamespace } from "@klutch/api";
import { leases, type ObjectRef, textAt } from "@klutch/kube-core";
import { waitFor, startCluster } from "@klutch/kube-testing";
import { type BoundFixture, startBoundFixture, type StartedProgram } from "../e2e/security/bound-fixture.ts";
import { type Ending, measureEndings } from "./harness/endings.ts";
import { runBenchmark } from "./harness/program.ts";

/** A process that may be ended in order or not. */
interface Replica {
  readonly name: string;
  readonly stop: () => Promise<void>;
  readonly kill: () => Promise<void>;
}

type Part = "backend" | "konnector";

const leaseOf: Readonly<Record<Part, ObjectRef>> = {
  konnector: { namespace: consumerNamespace, name: consumerNamespace },
  backend: { namespace: "klutch-backend", name: "klutch-backend" },
};

const defaults = { claims: 500, rounds: 5, only: "" };

async function main({ claims, rounds, only }: typeof defaults): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const first = nextOf("backend");
  const fixture = stack.use(await startBoundFixture(startCluster, { backend: first }));
  const replicas: Record<Part, Replica[]> = {
    backend: [{ ...fixture.backend, name: first.name }],
    konnector: [],
  };
  /** Starts another one, and waits until it stands by. */
  const start = async (part: Part): Promise<void> => {
    const next = nextOf(part);
    const started = part === "backend" ? fixture.startBackend(next) : fixture.startKonnector(next);
    replicas[part].push({ ...(await started), name: next.name });
  };
  const leader = (part: Part, how: "stop" | "kill"): Omit<Ending, "title"> => ({
    async happens() {
      const ended = await leaderOf(fixture, part, replicas[part]);
      replicas[part] = replicas[part].filter((one) => one !== ended);
      await ended[how]();
    },
    after: () => start(part),
  });
  const server = (side: "appCluster" | "controlPlane"): Omit<Ending, "title"> => ({
    async happens() {
      await fixture[side].apiServer.stop();
      await fixture[side].restart("apiserver");
    },
  });
  const endings: readonly Ending[] = [
    { title: "nothing ends" },
    { title: "konnector, SIGTERM", ...leader("konnector", "stop") },
    { title: "konnector, SIGKILL", ...leader("konnector", "kill") },
    { title: "backend, SIGTERM", ...leader("backend", "stop") },
    { title: "backend, SIGKILL", ...leader("backend", "kill") },
    { title: "API server of the app cluster, SIGTERM", ...server("appCluster") },
    { title: "API server of the control plane, SIGTERM", ...server("controlPlane") },
  ];
  await start("konnector");
  const prepare = async (): Promise<void> => {
    await start("konnector");
    await start("backend");
  };
  const wanted = endings.filter(({ title }) => title.includes(only));
  await measureEndings(fixture, { claims, secrets: 100, rounds, prepare }, wanted);
}

let starts = 0;

/** Names the next process of a part; it holds leases with that name. */
function nextOf(part: Part): StartedProgram {
  return { program: ownProgram(part), name: `${part}-${++starts}` };
}

async function leaderOf(fixture: BoundFixture, part: Part, running: readonly Replica[]): Promise<Replica> {
  const { client } = part === "konnector" ? fixture.appCluster : fixture.controlPlane;
  return waitFor("a leader", async () => {
    const holder = textAt((await client.get(leases, leaseOf[part])).spec, "holderIdentity") ?? "";
    return running.find(({ name }) => holder.includes(name));
  });
}

process.exitCode = await runBenchmark(defaults, main);
