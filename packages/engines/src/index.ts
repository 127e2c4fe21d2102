/** Finds, fetches or builds the upstream servers and runs them as processes that end with their parent. */
export { engineNames, type EngineName } from "./catalog.ts";
export { EngineError, type EngineErrorCode } from "./errors.ts";
export { acquireFileLock, tryFileLock } from "./file-lock.ts";
export {
  type PostgresServer,
  resolvePostgres,
  startPostgres,
  type StartPostgresOptions,
} from "./postgres.ts";
export { isPortFree, type ReservedPorts, reservePorts } from "./ports.ts";
export { logTail, type ProcessOptions, type RunningProcess, startProcess } from "./process.ts";
export { resolveEngine, resolveEngines, type ResolveOptions } from "./resolve.ts";
