/**
 * `npm run test:long`: the tests that take too long for each change, part by part. `npm run test:long -- nodes helm` runs two parts, and
 * `-- --list` shows them. Ends with the line `N passed, N failed`, as `npm test` does.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { inheritedEnvironment } from "@klutch/engines";
import { exitCodeOf } from "@klutch/kube-testing";
import { repositoryRoot } from "../root.ts";
import { allTestFiles } from "./files.ts";
import { chooseParts, filesOf, programOf } from "./long-parts.ts";
import { runReal } from "./real.ts";
import { inLanes, lanesOf, printSummary, type StageResult } from "./stage.ts";

process.exitCode = await exitCodeOf(main);

async function main(): Promise<number> {
  const options = { list: { type: "boolean", default: false } } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const parts = chooseParts(positionals);
  const minutes = parts.reduce((sum, part) => sum + part.minutes, 0);
  for (const part of parts)
    console.log(`  ${part.name.padEnd(10)} ${String(part.minutes).padStart(3)} min  ${part.tests}`);
  console.log(`${parts.length} parts, about ${minutes} minutes on two cores.`);
  if (values.list) return 0;
  const results: StageResult[] = [];
  for (const [index, part] of parts.entries()) {
    console.log(`\n#### ${part.name} (${index + 1} of ${parts.length}): ${part.tests}`);
    const files = filesOf(part, allTestFiles().long);
    if (files.length > 0) results.push(await runReal(part.name, files));
    const programs = [...part.programs.entries()];
    const width = part.programs.some((text) => programOf(text).isTests) ? 1 : availableParallelism();
    results.push(...(await inLanes(lanesOf(width, programs), runProgram)));
    const failed = results.flatMap(({ records }) => records).filter(({ outcome }) => outcome === "failed");
    console.log(`#### ${part.name} done; ${failed.length} failed so far.`);
  }
  return printSummary(results);
}

/** Runs a program whose exit code is the verdict, and prints its lines with its number, because others print at the same time. */
async function runProgram([index, name]: readonly [number, string]): Promise<StageResult> {
  const say = (line: string): void => console.log(`${index + 1}| ${line}`);
  say(`== ${name}`);
  const started = performance.now();
  const { variables, entry, args } = programOf(name);
  const child = spawn(process.execPath, [entry, ...args], {
    cwd: repositoryRoot,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...inheritedEnvironment, ...variables },
  });
  for (const output of [child.stdout, child.stderr]) createInterface(output).on("line", say);
  const [exitCode] = (await once(child, "close")) as [number | null];
  const milliseconds = performance.now() - started;
  const outcome = exitCode === 0 ? "passed" : "failed";
  say(`${outcome}: ${name}`);
  return {
    name,
    records: [{ name, file: entry, outcome, milliseconds }],
    seconds: milliseconds / 1000,
  };
}
