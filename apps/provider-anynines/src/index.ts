/** The Crossplane provider for service brokers. */
export { addProvider, type ProviderOptions } from "./provider.ts";
