/** The whole of Klutch as local processes. */
export { readConfig, type SandboxConfig } from "./config.ts";
export { runSandbox } from "./sandbox.ts";
