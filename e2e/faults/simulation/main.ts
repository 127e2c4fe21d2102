/** `npm run faults`: many seeds of the simulation. `-- --seeds 10000 --from 1`, or `-- --seed 17 --story` to replay one. */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { fork } from "node:child_process";
import { simulate } from "./simulate.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "10000" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    story: { type: "boolean", default: false },
    step: { type: "string" },
  },
});

if (values.seed !== undefined) {
  const { broken, story, writes, lasted } = await simulate(Number(values.seed));
  if (values.story) for (const line of story) console.log(line);
  for (const line of broken) console.log(`BROKEN ${line}`);
  console.log(
    `seed ${values.seed}: ${broken.length} broken promises, ${writes} writes, ${(lasted / 1000).toFixed(0)} virtual s`,
  );
  process.exitCode = broken.length === 0 ? 0 : 1;
} else if (values.step !== undefined) {
  // One of several processes: every step-th seed.
  const [from, seeds, step] = [Number(values.from), Number(values.seeds), Number(values.step)];
  for (let seed = from; seed < from + seeds; seed += step) {
    const { broken, writes } = await simulate(seed);
    process.send?.({ seed, broken, writes });
  }
} else {
  const processes = availableParallelism();
  const [from, seeds] = [Number(values.from), Number(values.seeds)];
  const started = performance.now();
  let done = 0;
  let writes = 0;
  let failed = 0;
  const finished = Array.from({ length: processes }, (_, index) => {
    const args = [`--from=${from + index}`, `--seeds=${seeds - index}`, `--step=${processes}`];
    const child = fork(import.meta.filename, args);
    child.on("message", (message: { seed: number; broken: readonly string[]; writes: number }) => {
      done++;
      writes += message.writes;
      if (message.broken.length > 0) failed++;
      for (const line of message.broken) console.log(`seed ${message.seed} BROKEN ${line}`);
      if (done % 100 === 0) console.log(`${done} seeds, ${failed} failed, ${writes} agent writes`);
    });
    return new Promise<void>((resolve) => child.once("exit", () => resolve()));
  });
  await Promise.all(finished);
  const seconds = (performance.now() - started) / 1000;
  console.log(`${done} seeds, ${failed} failed, ${writes} agent writes, ${seconds.toFixed(0)} s`);
  process.exitCode = failed === 0 && done === seeds ? 0 : 1;
}
