/** The whole of Klutch as local processes. */
export { readConfig, type SandboxConfig } from "./config.ts";
export { bindApi } from "./demo/bind.ts";
export { runSandbox } from "./sandbox.ts";
