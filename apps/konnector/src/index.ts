/** The sync agent of an app cluster. */
export type { Timing } from "./clusters.ts";
export { type KonnectorConfig, konnectorProgram } from "./config.ts";
export { type AgentRunOptions, runAgent } from "./agent.ts";
export * as metrics from "./metrics.ts";
