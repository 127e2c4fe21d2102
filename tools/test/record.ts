/** The line that the recorder writes for each finished test, and its reader. */

/** One finished test. */
export interface TestRecord {
  readonly name: string;
  /** Relative to the repository root. */
  readonly file: string;
  readonly outcome: "passed" | "failed" | "skipped";
  readonly milliseconds: number;
}

/** Reads a line of the recorder. Throws when it is not one. */
export function parseTestRecord(line: string): TestRecord {
  const value: unknown = JSON.parse(line);
  if (!isTestRecord(value)) throw new Error(`not a test record: ${line}`);
  return value;
}

function isTestRecord(value: unknown): value is TestRecord {
  return (
    typeof value === "object" && value !== null && "name" in value && "file" in value && "outcome" in value
  );
}
