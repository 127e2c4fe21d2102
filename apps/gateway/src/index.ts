/** Serves lists and watches of bound kinds to many app clusters from one watch of each kind. */
export { type GatewayConfig, gatewayProgram } from "./config.ts";
export * as metrics from "./metrics.ts";
export { runGateway } from "./process.ts";
export { gatewayServer, type GatewayServerOptions } from "./server.ts";
