/** The Crossplane provider for service brokers. */
export { providerProgram } from "./config.ts";
export { declarations as metrics } from "./metrics.ts";
export { addProvider, type ProviderOptions } from "./provider.ts";
