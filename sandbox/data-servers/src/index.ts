/** What programs that run data servers have in common: closed files, certificates, where they are reached, and runs of the servers' own programs. */
export { type Authority, openAuthority, tlsFilesIn } from "./certificates.ts";
export { ChildError, type ChildOptions, readLines, runFrom, runInto, runProgram } from "./child-stream.ts";
export { postgresEnvironment, programEnvironment } from "./environment.ts";
export { postgresTls } from "./postgres-tls.ts";
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
export { makeServerFolder, readIfThere, writeForServer, writeOwn } from "./ownership.ts";
