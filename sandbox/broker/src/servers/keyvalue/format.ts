/** Dumps of a key-value store: a snapshot in the server's own format (RDB), which has a checksum, taken as a replica would. */
import { chown } from "node:fs/promises";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { runInto } from "@klutch/data-servers";
import { type DebianPrograms, unprivileged } from "@klutch/engines";
import type { DumpFormat } from "../server-dumps.ts";
import type { KeyvalueSession } from "./keyvalue.ts";
import { adminUser, snapshotFile, socketName } from "./settings.ts";

const pollMs = 50;

/** The format, with programs that were found or fetched. */
export function keyvalueFormat(programs: DebianPrograms): DumpFormat<KeyvalueSession> {
  return {
    backupType: "redis_rdb",
    write: (place, _session, to, signal) =>
      runInto(
        {
          program: programs.path("redis-cli"),
          args: ["-s", socketName, "--user", adminUser, "--rdb", "-"],
          env: { ...programs.env, PATH: "/usr/bin:/bin", REDISCLI_AUTH: place.adminPassword },
          cwd: place.data,
          signal,
        },
        to,
      ),
    read: (from, signal) => ({
      async prepare(place) {
        const path = join(place.data, snapshotFile);
        await pipeline(from(), createWriteStream(path, { mode: 0o600, flags: "wx" }), { signal });
        if (unprivileged !== undefined) await chown(path, unprivileged.uid, unprivileged.gid);
      },
      // The server has read the snapshot at its start. From here on it keeps its log, which begins with everything.
      async fill(_place, _spec, session) {
        await session.run("CONFIG", "SET", "appendonly", "yes");
        while (!(await isLogged(session))) {
          signal.throwIfAborted();
          await sleep(pollMs);
        }
      },
    }),
  };
}

/** Throws when the log could not be written. */
async function isLogged(session: KeyvalueSession): Promise<boolean> {
  const text = String(await session.run("INFO", "persistence"));
  const is = (field: string): boolean => new RegExp(`^${field}\\r?$`, "m").test(text);
  if (!is("aof_last_bgrewrite_status:ok")) throw new Error("the server could not write its log");
  return is("aof_rewrite_in_progress:0") && is("aof_rewrite_scheduled:0") && is("aof_enabled:1");
}
