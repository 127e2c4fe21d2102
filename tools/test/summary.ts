/** The closing lines of the test command. */
import type { StageResult } from "./stage.ts";

/** Prints counts for each part and the closing line; gives back the exit code. */
export function printSummary(results: readonly StageResult[]): number {
  const records = results.flatMap((result) => result.records);
  const count = (outcome: string): number => records.filter((record) => record.outcome === outcome).length;
  console.log("\nTests by part:");
  for (const [part, tests] of Map.groupBy(records, (record) => partOf(record.file))) {
    const failed = tests.filter((test) => test.outcome === "failed").length;
    console.log(
      `  ${part.padEnd(28)} ${String(tests.length).padStart(4)}${failed === 0 ? "" : ` (${failed} failed)`}`,
    );
  }
  for (const result of results) console.log(`  ${result.name}: ${result.seconds.toFixed(0)} s`);
  // A runner that died without naming a test must not pass for a success.
  const broken = results.filter((result) => result.exitCode !== 0 && result.records.every(isGood));
  for (const result of broken)
    console.log(`The runner of "${result.name}" ended with exit code ${result.exitCode}.`);
  const failed = count("failed") + broken.length;
  const skipped = count("skipped");
  console.log(`${count("passed")} passed, ${failed} failed${skipped === 0 ? "" : `, ${skipped} skipped`}`);
  return failed === 0 && count("passed") > 0 ? 0 : 1;
}

function isGood(record: { readonly outcome: string }): boolean {
  return record.outcome !== "failed";
}

function partOf(file: string): string {
  return file.split("/").slice(0, 2).join("/");
}
