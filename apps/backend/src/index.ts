/** Login, binding page and controllers of the control plane. */
export { type Backend, type BackendOptions, createBackend } from "./backend.ts";
export { type BackendConfig, backendProgram } from "./config.ts";
export * as metrics from "./metrics.ts";
