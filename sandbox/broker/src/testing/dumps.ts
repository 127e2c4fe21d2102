/** Dumps of a test broker's server, without the manager around them. */
import { buffer } from "node:stream/consumers";
import { PassThrough, Readable } from "node:stream";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@klutch/telemetry";
import type { Dumps } from "../backup-manager/dumps.ts";
import { PostgresDumps } from "../backup-manager/postgres/postgres-dumps.ts";
import { programFolders } from "../backup-manager/postgres/programs.ts";
import { serviceId } from "../catalog.ts";
import { Databases } from "../databases.ts";
import { Maintenance } from "../maintenance.ts";
import { type Instance, Store } from "../store.ts";

/** Dumps and restores whole buffers. */
export interface DumpsWorld extends AsyncDisposable {
  readonly dumps: Dumps;
  readonly skipped: readonly string[];
  readonly instance: (id: string) => Promise<Instance>;
  readonly dump: (id: string) => Promise<Buffer>;
  readonly restore: (id: string, dump: Buffer, token: string, signal?: AbortSignal) => Promise<void>;
}

export async function startDumps(adminUrl: string, programs?: string): Promise<DumpsWorld> {
  const url = new URL(adminUrl);
  const workFolder = await mkdtemp(join(tmpdir(), "klutch-dumps-"));
  const maintenance = new Maintenance(url, silentLogger);
  const store = new Store(maintenance.pool);
  const skipped: string[] = [];
  const dumps = new PostgresDumps({
    serviceId,
    maintenance,
    databases: new Databases({ maintenance, url, secretKey: "only for passwords, which no test here makes" }),
    bindingsOf: (id) => store.bindingsOf(id),
    url,
    folders: await programFolders(programs, "/usr/bin"),
    workFolder,
    onSkipped: (_, words) => skipped.push(words),
  });
  const instance = async (id: string): Promise<Instance> => {
    const found = await store.instance(id);
    if (found === undefined) throw new Error(`no instance ${id}`);
    return found;
  };
  return {
    dumps,
    skipped,
    instance,
    async dump(id) {
      const to = new PassThrough();
      const [whole] = await Promise.all([
        buffer(to),
        dumps.dump(await instance(id), to, AbortSignal.timeout(60_000)),
      ]);
      return whole;
    },
    async restore(id, dump, token, signal = AbortSignal.timeout(60_000)) {
      // In pieces, as a file comes.
      const open = (): Readable => Readable.from(pieces(dump), { objectMode: false });
      await dumps.restore(await instance(id), { open }, { token, signal });
    },
    async [Symbol.asyncDispose]() {
      await maintenance[Symbol.asyncDispose]();
      await rm(workFolder, { recursive: true, force: true });
    },
  };
}

function* pieces(whole: Buffer): Generator<Buffer> {
  for (let at = 0; at < whole.length; at += 5_000) yield whole.subarray(at, at + 5_000);
}
