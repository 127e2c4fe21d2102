/** The Crossplane provider for service brokers. */
export { providerProgram } from "./config.ts";
export * as metrics from "./metrics.ts";
export { addProvider, type ProviderOptions } from "./provider.ts";
