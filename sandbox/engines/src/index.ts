/** Finds or builds the upstream servers and runs them as processes that end with their parent. */
export * from "./catalog.ts";
export * from "./environment.ts";
export { AptFault, type UnpackedPackage, unpackForeign } from "./debian-apt.ts";
export { type DebianName } from "./debian-packages.ts";
export { type DebianPrograms, type NodePrograms, resolveDebian, resolveNodePrograms } from "./debian.ts";
export {
  obtainOnDemandServices,
  type OnDemandService,
  onDemandServices,
  readOnDemandServices,
} from "./data-services.ts";
export { dexConfig, dexIssuer, dexPassword, type DexSettings, startDex } from "./dex.ts";
export { tryFileLock } from "./file-lock.ts";
export { digestOfFile, keepFiles, type KeptFilesOptions, takeKept } from "./kept-files.ts";
export { type KeycloakServer, keycloakVersion, resolveKeycloak, startKeycloak } from "./keycloak.ts";
export { type MotoServer, resolveMoto, startMoto } from "./moto.ts";
export { type OpensearchProgram, opensearchObstacle, resolveOpensearch } from "./opensearch.ts";
export {
  type OutsideDoor,
  type PostgresServer,
  preparePostgres,
  startPostgres,
  startStandby,
} from "./postgres.ts";
export { findDumpPrograms } from "./postgres-programs.ts";
export { canEnter, dataHome, removeDataHome, unprivileged } from "./data-home.ts";
export { namespaceFlags, whyNoNodes } from "./node-check.ts";
export { isPortFree, type PortRange, type ReservedPorts, reservePort, reservePorts } from "./ports.ts";
export {
  logTail,
  type ProcessOptions,
  type RunningProcess,
  startProcess,
  watchedArguments,
} from "./process.ts";
export { type PrometheusServer, type PrometheusSettings, startPrometheus } from "./prometheus.ts";
export { engineObstacle, resolveEngine, resolveEngines, type ResolveOptions } from "./resolve.ts";
