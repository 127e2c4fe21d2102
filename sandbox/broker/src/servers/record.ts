/** What is written down of an instance's server beside its data. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { readIfThere, writeOwn } from "@klutch/data-servers";
import { kindNames } from "./kind.ts";

/** Changes as a whole. */
export interface ServerRecord {
  /** Part of every binding's credentials, so it stays while the broker may have it. */
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

/** Ports of all instances of all kinds below `root`, whether or not their servers run. */
export async function recordedPorts(root: string): Promise<ReadonlySet<number>> {
  const ports = new Set<number>();
  for (const kind of kindNames)
    for (const instance of await readdir(join(root, kind)).catch(() => [])) {
      const record = await readRecord(join(root, kind, instance));
      if (record !== undefined) ports.add(record.port);
    }
  return ports;
}
