/** Finds, fetches or builds the upstream servers and runs them as processes that end with their parent. */
export {
  allEngineNames,
  engineDefinition,
  engineNames,
  type EngineName,
  nodeEngineNames,
} from "./catalog.ts";
export { cacheFolder } from "./environment.ts";
export { AptFault, type UnpackedPackage, unpackForeign } from "./debian-apt.ts";
export { type DebianName } from "./debian-packages.ts";
export { type DebianPrograms, resolveDebian } from "./debian.ts";
export { EngineError } from "./errors.ts";
export { digestOfFile } from "./file-digest.ts";
export { tryFileLock } from "./file-lock.ts";
export { ownProgram } from "./own-program.ts";
export { keepFiles, type KeptFilesOptions, takeKept } from "./kept-files.ts";
export { type KeycloakServer, keycloakVersion, resolveKeycloak, startKeycloak } from "./keycloak.ts";
export { type OutsideDoor } from "./postgres-access.ts";
export { type PostgresServer, preparePostgres, startPostgres } from "./postgres.ts";
export { findDumpPrograms } from "./postgres-programs.ts";
export { startStandby } from "./postgres-standby.ts";
export { dataHome, removeDataHome } from "./data-home.ts";
export { whyNoNodes } from "./node-check.ts";
export { type NodePrograms, resolveNodePrograms } from "./node-programs.ts";
export { isPortFree, type PortRange, type ReservedPorts, reservePort, reservePorts } from "./ports.ts";
export { identify } from "./process-identity.ts";
export { logTail, type ProcessOptions, type RunningProcess, startProcess } from "./process.ts";
export { resolveEngine, resolveEngines, type ResolveOptions } from "./resolve.ts";
export { canEnter, unprivileged } from "./unprivileged.ts";
