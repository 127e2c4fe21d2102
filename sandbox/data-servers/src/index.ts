/** Parts that programs which run data servers share: files, certificates, addresses, PostgreSQL databases, runs of the servers' programs. */
export { type Authority, openAuthority, postgresTls, tlsFilesIn } from "./certificates.ts";
export { makeServerFolder, readIfThere, writeForServer, writeOwn } from "./ownership.ts";
export {
  closeCommonDatabases,
  dropDatabase,
  dropLogin,
  type DumpPrograms,
  ensureDatabase,
  ensureLogin,
  type Login,
  openDatabase,
  type PostgresDatabase,
} from "./postgres-database.ts";
export {
  dumpDatabase,
  dumpObstacle,
  restoreDatabase,
  type RestoreOptions,
} from "./postgres-dumps.ts";
export { exists, literal, quote, runAll, withSession } from "./postgres-session.ts";
export { ProgramError, type ProgramRun, runProgram } from "./programs.ts";
export { reachFlags, reachOf } from "./reach-flags.ts";
export {
  choosePort,
  hostInUrl,
  isWithin,
  keepPort,
  onLoopback,
  outsideDoor,
  type Reach,
} from "./reach.ts";
export { KeyedQueue } from "./keyed-queue.ts";
