/** The Crossplane provider for service brokers. */
export { type ProviderOptions, runProvider } from "./provider.ts";
