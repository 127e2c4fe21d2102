/** Flags and environment of the provider; their names are those that Crossplane's providers have. */
import { klutchVersion } from "@klutch/api";
import {
  type ConfigSource,
  type ControllersConfig,
  controllersConfig,
  controllersFlags,
  duration,
  ignored,
  type Program,
  requireFlags,
  toggle,
  wholeNumber,
} from "@klutch/program";

/** Configuration of the provider. */
export interface ProviderProcessConfig extends ControllersConfig {
  readonly pollIntervalMs: number;
  readonly workers: number;
  /** Namespaces that metrics show each by itself. */
  readonly metricsNamespaces: number;
}

const flags = {
  ...controllersFlags({ probes: ":8080", namespace: "crossplane-system" }),
  sync: { ...ignored({ value: "duration", default: "1h" }), short: "s" },
  poll: duration({ help: "How often each managed resource is compared with its broker", default: "1m" }),
  "max-reconcile-rate": wholeNumber(
    {
      help: "Managed resources of one kind and one broker or backup manager that are worked on at the same time",
      default: "10",
    },
    { least: 1 },
  ),
  "metrics-namespaces": wholeNumber(
    {
      help: "Namespaces that metrics of managed resources show each by itself; all others count as other",
      default: "50",
    },
    { least: 0, most: 1000 },
  ),
  "enable-management-policies": toggle({
    help: "Accepted for existing manifests; management policies always hold",
    default: "true",
  }),
};

/** The provider and its flags. */
export const providerProgram: Program<ProviderProcessConfig> = {
  name: "provider-anynines",
  version: klutchVersion,
  summary: "makes instances and bindings at service brokers from Crossplane's managed resources",
  flags,
  readConfig,
};

function readConfig(source: ConfigSource): ProviderProcessConfig {
  const values = requireFlags(flags, source);
  return {
    ...controllersConfig(values, source),
    pollIntervalMs: values.poll,
    workers: values["max-reconcile-rate"],
    metricsNamespaces: values["metrics-namespaces"],
  };
}
