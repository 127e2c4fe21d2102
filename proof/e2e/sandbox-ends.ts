/**
 * Explains failed tests by the servers of their sandbox that ended. The log is read at once: a server that is started again writes on in the
 * same file, and the folder goes with the sandbox.
 */
import { afterEach } from "node:test";
import { logTail } from "@klutch/engines";
import { logOfEnd } from "@klutch/launcher";
import { type Canary, keptSecrets, withoutCanaries } from "./security/sandbox-canaries.ts";

const logLines = 40;
/** The first ends are the causes of the others. */
const mostEnds = 10;

/** Remembers the servers that a sandbox reports as ended. */
export class ServerEnds {
  readonly #ends: { readonly line: string; readonly log: string }[] = [];
  #more = 0;
  #rest = "";

  /** Takes the next part of what the sandbox prints. */
  take(chunk: string): void {
    const lines = (this.#rest + chunk).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const file = logOfEnd(line);
      if (file === undefined) continue;
      if (this.#ends.length < mostEnds)
        this.#ends.push({ line: line.trim(), log: logTail(file, logLines).trimEnd() });
      else this.#more++;
    }
  }

  get isEmpty(): boolean {
    return this.#ends.length === 0;
  }

  /** Returns each line with the end of its server's log, in the order in which they ended; empty if none did. */
  describe(canaries: readonly Canary[]): string {
    const texts = this.#ends.map(({ line, log }) => `${line}\n${log.replaceAll(/^/gm, "  | ")}\n`);
    if (this.#more > 0) texts.push(`… and ${this.#more} more ends of servers\n`);
    return withoutCanaries(texts.join(""), canaries);
  }
}

/** Describes the ends without the secrets of the sandbox in this folder; without the logs if these secrets cannot be read. */
export async function describeEnds(ends: ServerEnds, folder: string): Promise<string> {
  if (ends.isEmpty) return "";
  const canaries = await keptSecrets(folder).catch(() => undefined);
  return canaries === undefined
    ? "its servers' ends cannot be shown, because the list of its secrets is missing\n"
    : ends.describe(canaries);
}

/** Prints the ends after a test that failed, each time when there are others than before. Call it once in a test file. */
export function explainFailures(sandbox: { readonly ends: () => Promise<string> }): void {
  let told = "";
  afterEach(async (t) => {
    if (!("passed" in t) || t.passed) return;
    const text = await sandbox.ends();
    if (text !== told && text !== "") console.error(`Servers of the sandbox ended by themselves:\n${text}`);
    told = text;
  });
}
