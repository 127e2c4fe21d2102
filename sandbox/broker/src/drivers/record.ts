/** Stores what must outlive the broker about an instance's server, beside its data. */
import { glob } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readIfThere, writeOwn } from "@klutch/data-servers";

/** Changes as a whole. */
export interface ServerRecord {
  /** Part of every binding's credentials, so it stays while the broker may use it. */
  readonly port: number;
  /** Name of the folder that holds the data now. */
  readonly data: string;
  /** Tokens of finished restores, the newest last. */
  readonly restored: readonly string[];
}

/** Folder below that of an instance, with the record of its second port. */
export const syslogFolder = "syslog";
const keptTokens = 100;
const fileName = "record.json";

/** Returns undefined when there is none. Throws when it is damaged. */
export async function readRecord(home: string): Promise<ServerRecord | undefined> {
  const text = await readIfThere(join(home, fileName));
  if (text === undefined) return undefined;
  const value: unknown = JSON.parse(text);
  const fields = new Map<string, unknown>(Object.entries(value ?? {}));
  const [port, data, restored] = ["port", "data", "restored"].map((name) => fields.get(name));
  if (typeof port !== "number" || typeof data !== "string" || !Array.isArray(restored))
    throw new Error(`${join(home, fileName)} is damaged; start again with \`npm run sandbox -- --reset\``);
  return { port, data, restored: restored.map(String) };
}

/** Replaces the record. */
export async function writeRecord(home: string, record: ServerRecord): Promise<void> {
  const restored = record.restored.slice(-keptTokens);
  await writeOwn(join(home, fileName), `${JSON.stringify({ ...record, restored })}\n`);
}

/** Returns the ports of all instances of all kinds below `root`, whether or not their servers run. */
export async function recordedPorts(root: string): Promise<ReadonlySet<number>> {
  const ports = new Set<number>();
  for await (const path of glob(`*/*/{,${syslogFolder}/}${fileName}`, { cwd: root })) {
    const record = await readRecord(dirname(join(root, path)));
    if (record !== undefined) ports.add(record.port);
  }
  return ports;
}
