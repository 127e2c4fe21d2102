/** What programs that run data servers have in common: closed files, certificates, and runs of the servers' own programs. */
export { type Authority, openAuthority, tlsFilesIn } from "./certificates.ts";
export { ChildError, type ChildOptions, readLines, runFrom, runInto, runProgram } from "./child-stream.ts";
export { postgresEnvironment, programEnvironment } from "./environment.ts";
export { makeServerFolder, readIfThere, writeForServer, writeOwn } from "./ownership.ts";
