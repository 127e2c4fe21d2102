/** Flags and environment of the konnector. */
import {
  checkApiFullName,
  checkApiName,
  checkedOwnBindUrl,
  consumerNamespace,
  klutchVersion,
  type KonnectorUpdateScope,
} from "@klutch/api";
import { isDnsSubdomain } from "@klutch/kube-core";
import {
  ConfigError,
  type ConfigSource,
  ignored,
  identityFlag,
  kubeconfigFlag,
  oneOf,
  optional,
  optionalText,
  port,
  type Program,
  readFlags,
  text,
  toggle,
  type ValuesOf,
  wholeNumber,
} from "@klutch/program";
import type { LogLevel } from "@klutch/telemetry";
import type { Timing } from "./clusters.ts";
import { updateFlags, updatesOf } from "./update-flags.ts";

/** The agent runs beside the backend and reaches the app cluster with a kubeconfig from a Secret. */
export interface ControlPlaneMode {
  readonly secretName: string;
  readonly secretNamespace: string;
  /** Default `kubeconfig`. */
  readonly secretKey: string;
  /** Namespace of the bindings, and the cluster namespace. */
  readonly rootNamespace: string;
}

/** Names the backend at which this konnector binds by itself. */
export interface OwnBind {
  /** URL of the backend's route; it ends in `/bind-app-cluster` and is the audience of the token. */
  readonly url: string;
  /** Name of the AppCluster in the control plane. */
  readonly appCluster: string;
  /** File of a projected service account token, which the kubelet renews. */
  readonly tokenFile: string;
  /** Absent where each API is bound by name. */
  readonly autoBind?: AutoBind | undefined;
}

/** The APIs that this konnector binds when the provider announces them (designs/0034-additions.md). */
export interface AutoBind {
  /** API groups. No wildcard: the konnector has rights on all kinds of each. */
  readonly groups: readonly string[];
  /** Names of APIs, `<plural>.<group>`, that are left to people. */
  readonly except: readonly string[];
}

/** Configuration of a konnector process. */
export interface KonnectorConfig {
  /** Kubeconfig of the cluster with the bindings (the app cluster, in control-plane mode the control plane); in-cluster configuration when absent. */
  readonly kubeconfig: string | undefined;
  readonly leaseName: string;
  readonly leaseNamespace: string;
  /** Unique among the replicas. */
  readonly identity: string;
  readonly probeHost: string | undefined;
  /** Default 8080, which the shipped manifests probe; 0 chooses a free one. */
  readonly probePort: number;
  readonly logLevel: LogLevel;
  /** Creates the APIServiceBinding CRD when it is absent. Default true. */
  readonly installCrd: boolean;
  /** Times and limits that flags set; the others have their defaults. */
  readonly timing: Partial<Timing>;
  readonly controlPlane: ControlPlaneMode | undefined;
  /** Absent where people bind. */
  readonly ownBind: OwnBind | undefined;
  /** Absent where the operator of the app cluster updates the konnector. */
  readonly updates: KonnectorUpdateScope | undefined;
}

const logLevels: readonly LogLevel[] = ["debug", "info", "warn", "error", "silent"];
/** From this klog verbosity on, everything is logged. */
const debugVerbosity = 4;
const inControlPlaneMode = "with --control-plane-mode:";

const flags = {
  kubeconfig: kubeconfigFlag,
  "lease-name": text({ help: "Name of the lease that replicas compete for", default: consumerNamespace }),
  "lease-namespace": text({ help: "Namespace of the lease", env: "POD_NAMESPACE", default: "kube-system" }),
  identity: identityFlag,
  "control-plane-mode": toggle({
    help: "Run beside the backend: bindings are here, and the app cluster is reached with the kubeconfig of a Secret",
  }),
  "app-cluster-kubeconfig-secret-name": optionalText({
    help: `${inControlPlaneMode} name of the Secret with the app cluster's kubeconfig`,
  }),
  "app-cluster-kubeconfig-secret-namespace": optionalText({
    help: `${inControlPlaneMode} its namespace`,
  }),
  "app-cluster-kubeconfig-secret-key": text({
    help: `${inControlPlaneMode} the key in it`,
    default: "kubeconfig",
  }),
  "binding-root-namespace": optionalText({ help: `${inControlPlaneMode} namespace of the bindings` }),
  "bind-url": optionalText({
    value: "url",
    help: "Bind by the konnector's own token instead of a person's login: URL of the backend's /bind-app-cluster",
  }),
  "app-cluster": optionalText({
    value: "name",
    help: "with --bind-url: name of the AppCluster in the control plane",
  }),
  "bind-token-file": text({
    value: "path",
    help: "with --bind-url: file of a service account token whose audience is that URL",
    default: "/var/run/secrets/klutch/token",
  }),
  "auto-bind-groups": optionalText({
    value: "groups",
    help: "with --bind-url: API groups, separated by commas, whose APIs are bound when the control plane announces them",
  }),
  "auto-bind-except": optionalText({
    value: "apis",
    help: "with --auto-bind-groups: APIs, <plural>.<group>, separated by commas, that are left to people",
  }),
  ...updateFlags,
  "probe-host": optionalText({
    value: "host",
    help: "Where /healthz, /readyz and /metrics are served; all interfaces when it is not set",
  }),
  "probe-port": port({
    help: "Port of /healthz, /readyz and /metrics; 0 chooses a free one",
    default: "8080",
  }),
  "log-level": optional(
    oneOf(logLevels, {
      help: "Log level; defaults to info, or debug with --v=4 and more",
      default: "info",
    }),
  ),
  "no-install-crd": toggle({
    help: "Do not create the CustomResourceDefinition of bindings when it is absent",
  }),
  "mass-deletion-limit": wholeNumber(
    {
      help: "Deleted claims of one API within a minute from which on deletions are held, when they are at least half of its claims, and claims of a namespace that is deleted; 0 never holds",
      default: "5",
    },
    { least: 0, rule: "must be 0 (never hold) or more" },
  ),
  "provider-objects-limit": wholeNumber(
    {
      help: "Copies of one claimed resource that the provider may bring into a namespace; 0 is any number",
      default: "1000",
    },
    { least: 0, rule: "must be 0 (no limit) or more" },
  ),
  "canary-seconds": wholeNumber(
    {
      help: "Seconds between two probes that take the way of claims, up and down, for metrics and alerts; 0 is no canary",
      default: "60",
    },
    { least: 0, most: 3600, rule: "must be 0 (no canary) to 3600" },
  ),
  v: wholeNumber(
    { short: "v", help: `Verbosity as of klog: ${debugVerbosity} and more mean debug`, default: "0" },
    { least: 0 },
  ),
  vmodule: ignored({ value: "text" }),
  "logging-format": ignored({ value: "text" }),
  "log-flush-frequency": ignored({ value: "duration" }),
};

type Values = ValuesOf<typeof flags>;

/** The konnector and its flags. */
export const konnectorProgram: Program<KonnectorConfig> = {
  name: "konnector",
  version: klutchVersion,
  summary: "keeps the claims of an app cluster and the control planes of its bindings in sync",
  flags,
  readConfig: parseConfig,
};

/** Reads the configuration. Throws `ConfigError` that lists every fault at once. */
export function parseConfig(source: ConfigSource): KonnectorConfig {
  const { values, faults } = readFlags(flags, source);
  const controlPlane = controlPlaneMode(values, faults);
  const ownBind = ownBindOf(values, faults);
  const updates = updatesOf(values, faults);
  if (faults.length > 0) throw new ConfigError(faults);
  return {
    kubeconfig: values.kubeconfig,
    leaseName: values["lease-name"],
    leaseNamespace: values["lease-namespace"],
    identity: values.identity ?? source.randomName(),
    probeHost: values["probe-host"],
    probePort: values["probe-port"],
    logLevel: values["log-level"] ?? (values.v >= debugVerbosity ? "debug" : "info"),
    installCrd: !values["no-install-crd"],
    timing: {
      massDeletionLimit: values["mass-deletion-limit"],
      canaryMs: values["canary-seconds"] * 1000,
      providerObjectsLimit: values["provider-objects-limit"],
    },
    controlPlane,
    ownBind,
    updates,
  };
}

function ownBindOf(values: Values, faults: string[]): OwnBind | undefined {
  const { "bind-url": url, "app-cluster": appCluster, "bind-token-file": tokenFile } = values;
  const autoBind = autoBindOf(values, faults);
  if (url === undefined) {
    if (autoBind !== undefined) faults.push("--auto-bind-groups is only used with --bind-url");
    if (appCluster !== undefined) faults.push("--app-cluster is only used with --bind-url");
    return undefined;
  }
  if (values["control-plane-mode"]) faults.push("--bind-url and --control-plane-mode exclude each other");
  if (checkedOwnBindUrl(url) === undefined)
    faults.push(`--bind-url is ${JSON.stringify(url)}, must be an https URL that ends in /bind-app-cluster`);
  if (appCluster === undefined || !isDnsSubdomain(appCluster) || appCluster.length > 64)
    faults.push(
      `--app-cluster is ${JSON.stringify(appCluster ?? "")}, must be the name of an AppCluster of at most 64 characters`,
    );
  return { url, appCluster: appCluster ?? "", tokenFile, ...(autoBind === undefined ? {} : { autoBind }) };
}

function autoBindOf(values: Values, faults: string[]): AutoBind | undefined {
  const [groups, except] = [values["auto-bind-groups"], values["auto-bind-except"]].map(listed);
  if (groups === undefined) {
    if (except !== undefined) faults.push("--auto-bind-except is only used with --auto-bind-groups");
    return undefined;
  }
  for (const group of groups)
    if (checkApiName(group, "apis") !== undefined)
      faults.push(
        `--auto-bind-groups has ${JSON.stringify(group)}, must be API groups of the provider, such as anynines.com: no wildcards, and no group of Kubernetes or Klutch`,
      );
  for (const name of except ?? [])
    if (checkApiFullName(name) !== undefined)
      faults.push(
        `--auto-bind-except has ${JSON.stringify(name)}, must be names of APIs, such as postgresqlinstances.anynines.com`,
      );
  return { groups, except: except ?? [] };
}

/** Splits a list; undefined for one that is absent. */
function listed(text: string | undefined): readonly string[] | undefined {
  return text?.split(",").map((part) => part.trim());
}

function controlPlaneMode(values: Values, faults: string[]): ControlPlaneMode | undefined {
  if (!values["control-plane-mode"]) return undefined;
  const need = (
    name:
      | "app-cluster-kubeconfig-secret-name"
      | "app-cluster-kubeconfig-secret-namespace"
      | "binding-root-namespace",
  ): string => {
    const value = values[name];
    if (value === undefined) faults.push(`--${name} is required with --control-plane-mode`);
    return value ?? "";
  };
  return {
    secretName: need("app-cluster-kubeconfig-secret-name"),
    secretNamespace: need("app-cluster-kubeconfig-secret-namespace"),
    secretKey: values["app-cluster-kubeconfig-secret-key"],
    rootNamespace: need("binding-root-namespace"),
  };
}
