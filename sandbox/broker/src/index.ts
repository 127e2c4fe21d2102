/** The sandbox's service broker for PostgreSQL. */
export { type RunningBroker, startBroker } from "./broker.ts";
export { type BrokerConfig, brokerProgram } from "./config.ts";
export { declarations as metrics } from "./metrics.ts";
