/** A `node --test` reporter for people: one line for each file, failures in full as they happen. */
import { relative } from "node:path";
import { inspect } from "node:util";
import type { TestEvent } from "node:test/reporters";
import { repositoryRoot } from "../root.ts";
import { finishedFile, finishedTest, type FinishedTest } from "./finished.ts";

async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const files = new Map<string, FinishedTest[]>();
  const times = new Map<string, number>();
  for await (const event of source) {
    const ended = finishedFile(event);
    if (ended !== undefined) times.set(ended.file, ended.milliseconds);
    const finished = finishedTest(event);
    if (finished !== undefined) {
      const tests = files.get(finished.file) ?? [];
      tests.push(finished);
      files.set(finished.file, tests);
      if (finished.outcome === "failed") yield failure(finished);
    } else if (event.type === "test:diagnostic" && event.data.file !== undefined) {
      // Of a file, not of the run: such as an error that came after its test had ended and still fails the file.
      yield `${relative(repositoryRoot, event.data.file)}: ${event.data.message}\n`;
    } else if (event.type === "test:stderr" || event.type === "test:stdout") {
      yield event.data.message;
    }
  }
  for (const [file, tests] of [...files].toSorted(([left], [right]) => left.localeCompare(right))) {
    yield fileLine(relative(repositoryRoot, file), tests, times.get(file) ?? sumOf(tests));
  }
}

function fileLine(file: string, tests: readonly FinishedTest[], milliseconds: number): string {
  const failed = tests.filter((test) => test.outcome === "failed").length;
  const seconds = milliseconds / 1000;
  return `${failed === 0 ? "ok    " : "FAILED"} ${file} (${tests.length} tests, ${seconds.toFixed(1)} s)\n`;
}

/** Stands for the time of a file that shared its process. */
function sumOf(tests: readonly FinishedTest[]): number {
  return tests.reduce((sum, { milliseconds }) => sum + milliseconds, 0);
}

function failure(test: FinishedTest): string {
  return `\nFAILED ${relative(repositoryRoot, test.file)}: ${test.name}\n${inspect(test.error, { depth: 6 })}\n\n`;
}

// The runner takes a reporter only as the default export of its module.
// oxlint-disable-next-line import/no-default-export
export default report;
