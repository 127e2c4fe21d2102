/** A `node --test` reporter that writes one JSON line for each finished test. Loaded by path from `stage.ts`. */
import { relative } from "node:path";
import type { TestEvent } from "node:test/reporters";
import { repositoryRoot } from "../root.ts";
import { finishedTest } from "./finished.ts";
import type { TestRecord } from "./record.ts";

async function* record(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of source) {
    const finished = finishedTest(event);
    if (finished === undefined) continue;
    const { name, file, outcome, milliseconds } = finished;
    const line: TestRecord = { name, file: relative(repositoryRoot, file), outcome, milliseconds };
    yield `${JSON.stringify(line)}\n`;
  }
}

// The runner takes a reporter only as the default export of its module.
// oxlint-disable-next-line import/no-default-export
export default record;
