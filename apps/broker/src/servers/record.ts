/** What is written down of an instance's server beside its data. */
import { join } from "node:path";
import { readIfThere, writeOwn } from "@klutch/data-servers";

/** Changes as a whole. */
export interface ServerRecord {
  /** Part of every binding's credentials, so it stays. */
  readonly port: number;
  /** Name of the folder that holds the data now. */
  readonly data: string;
  /** Tokens of restores that are done, the newest last. */
  readonly restored: readonly string[];
}

const keptTokens = 100;
const fileName = "record.json";

/** Undefined when there is none. Throws when it is not readable. */
export async function readRecord(home: string): Promise<ServerRecord | undefined> {
  const text = await readIfThere(join(home, fileName));
  if (text === undefined) return undefined;
  const value: unknown = JSON.parse(text);
  const fields = new Map<string, unknown>(Object.entries(value ?? {}));
  const [port, data, restored] = ["port", "data", "restored"].map((name) => fields.get(name));
  if (typeof port !== "number" || typeof data !== "string" || !Array.isArray(restored))
    throw new Error(`${join(home, fileName)} is damaged`);
  return { port, data, restored: restored.map(String) };
}

export async function writeRecord(home: string, record: ServerRecord): Promise<void> {
  const restored = record.restored.slice(-keptTokens);
  await writeOwn(join(home, fileName), `${JSON.stringify({ ...record, restored })}\n`);
}
