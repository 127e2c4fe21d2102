/** Reads the runner's events: which of them end a test. */
import type { TestEvent } from "node:test/reporters";

/** A test that ended; suites and the runner's own wrapper for a file do not count. */
export interface FinishedTest {
  readonly name: string;
  /** Absolute. */
  readonly file: string;
  readonly outcome: "passed" | "failed" | "skipped";
  readonly milliseconds: number;
  readonly error?: unknown;
}

/** The test that `event` ends, if it ends one. A file that fails to load counts as one failed test. */
export function finishedTest(event: TestEvent): FinishedTest | undefined {
  if (event.type !== "test:pass" && event.type !== "test:fail") return undefined;
  const { name, file = name, details, skip } = event.data;
  if (details.type === "suite") return undefined;
  const isWrapper = isFileWrapper(event.data);
  if (event.type === "test:pass") {
    if (isWrapper) return undefined;
    const skipped = skip !== undefined && skip !== false;
    return { name, file, outcome: skipped ? "skipped" : "passed", milliseconds: details.duration_ms };
  }
  const { error } = event.data.details;
  const why = isWrapper ? howItEnded(error) : (error.cause ?? error);
  return { name, file, outcome: "failed", milliseconds: details.duration_ms, error: why };
}

/** A file whose process ended, and how long that ran: with what it set up outside of its tests. */
export interface FinishedFile {
  /** Absolute. */
  readonly file: string;
  readonly milliseconds: number;
}

/** The file that `event` ends, if it ends one. */
export function finishedFile(event: TestEvent): FinishedFile | undefined {
  if (event.type !== "test:complete" || !isFileWrapper(event.data)) return undefined;
  const { name, file = name, details } = event.data;
  return { file, milliseconds: details.duration_ms };
}

function isFileWrapper({
  name,
  file = name,
  nesting,
}: {
  readonly name: string;
  readonly file?: string | undefined;
  readonly nesting: number;
}): boolean {
  return nesting === 0 && (name === file || file.endsWith(`/${name}`));
}

/** The runner's own error of a file says nothing but "test failed"; how its process ended stands beside it. */
function howItEnded(error: Error & { readonly exitCode?: unknown; readonly signal?: unknown }): object {
  return { cause: error.cause ?? error, exitCode: error.exitCode, signal: error.signal };
}
