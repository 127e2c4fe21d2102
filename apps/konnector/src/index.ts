/** The sync agent of an app cluster. */
export type { Timing } from "./clusters.ts";
export { type ConfigSource, type KonnectorConfig, parseConfig } from "./config.ts";
export { ConfigError } from "./errors.ts";
export { type AgentRunOptions, runAgent } from "./konnector.ts";
