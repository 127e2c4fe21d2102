/** Serves lists and watches of bound kinds to many app clusters from one watch of each kind. */
export { gatewayServer, type GatewayServerOptions } from "./server.ts";
