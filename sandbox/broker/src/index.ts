/** The sandbox's service broker for PostgreSQL. */
export { startBroker } from "./broker.ts";
export { type BrokerConfig, brokerProgram } from "./config.ts";
export * as metrics from "./metrics.ts";
