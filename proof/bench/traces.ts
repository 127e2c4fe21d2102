/**
 * `npm run bench:traces`: memory and CPU time of konnector, backend and provider with and without traces, in turn on the same servers under the
 * same claims, each with an instance at a broker and a Secret. Each round starts all three again. `--claims 100` in a round, one each
 * `--every 250` ms, `--rounds 2` of each kind. The receiver of the tests gets every span.
 */
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { receiveTraces, type TraceReceiver } from "@klutch/kube-testing";
import { cpuSecondsOf, memoryOf } from "./harness/process-memory.ts";
import { describeLoad, runBenchmark } from "./harness/program.ts";
import { formatTraces, type Round } from "./traces/report.ts";
import { programs, startTracesFixture, type TracesFixture } from "./traces/fixture.ts";

const defaults = { claims: 100, every: 250, rounds: 2 };
/** Milliseconds after the last claim in which the programs send the last spans. */
const settleMs = 6_000;

async function main(options: typeof defaults): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await mkdtempDisposable(join(tmpdir(), "klutch-traces-"))).path;
  const receiver = stack.use(await receiveTraces());
  const fixture = stack.use(await startTracesFixture(folder));
  const rounds: Round[] = [];
  for (let number = 0; number < 2 * options.rounds; number++) {
    const isTraced = number % 2 === 1;
    await fixture.restart(isTraced ? { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url } : {});
    const round = await measure(fixture, receiver, options, isTraced);
    rounds.push(round);
    console.log(`round ${number + 1}, ${JSON.stringify(round)}; load ${describeLoad()}`);
  }
  console.log(`\n${formatTraces(rounds)}\n`);
}

async function measure(
  fixture: TracesFixture,
  receiver: TraceReceiver,
  { claims, every }: typeof defaults,
  isTraced: boolean,
): Promise<Round> {
  // The code of a program that just started is not compiled yet.
  for (let number = 0; number < 5; number++) await fixture.live();
  const spansBefore = receiver.spans.length;
  const bytesBefore = bytesOf(receiver);
  const before = programs.map((program) => cpuSecondsOf(fixture.pidOf(program)));
  const lives: Promise<void>[] = [];
  for (let number = 0; number < claims; number++) {
    lives.push(fixture.live());
    await sleep(every);
  }
  await Promise.all(lives);
  await sleep(settleMs);
  return {
    isTraced,
    claims,
    spans: receiver.spans.length - spansBefore,
    bytes: bytesOf(receiver) - bytesBefore,
    programs: programs.map((program, index) => {
      const pid = fixture.pidOf(program);
      const cpuMs = 1000 * (cpuSecondsOf(pid) - (before[index] ?? 0));
      return { program, rss: memoryOf(pid).rss, cpuMs };
    }),
  };
}

const bytesOf = ({ requests }: TraceReceiver): number =>
  requests.reduce((sum, { body }) => sum + body.length, 0);

process.exitCode = await runBenchmark(defaults, main);
