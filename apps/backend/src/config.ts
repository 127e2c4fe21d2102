/** Flags of the backend. All faults are reported at once. */
import { parseArgs } from "node:util";
import {
  type ClusterScopedIsolation,
  type InformerScope,
  klutchVersion,
  konnectorRepository,
} from "@klutch/api";
import { Secret } from "@klutch/telemetry";
import {
  choice,
  cookieKey,
  count,
  encryptionKey,
  imagePrefixes,
  optionalFile,
  seconds,
  tlsFiles,
  url,
} from "./config-values.ts";
import { defaultLimits, type Limits } from "./limits.ts";

/** How the backend runs. */
export interface BackendConfig {
  readonly kubeconfig: string | undefined;
  readonly namespacePrefix: string;
  readonly prettyName: string;
  readonly consumerScope: InformerScope;
  readonly clusterScopedIsolation: ClusterScopedIsolation;
  readonly external: {
    readonly address: string | undefined;
    readonly ca: string | undefined;
    readonly serverName: string | undefined;
  };
  /** Whether AppClusterBindings are served. */
  readonly controlPlaneMode: boolean;
  /** Image of the konnectors that the control-plane mode deploys. */
  readonly konnectorImage: string;
  /** Repositories, or what they start with, of images that overrides of an AppClusterBinding may name. */
  readonly allowedImagePrefixes: readonly string[];
  /** Whether login and binding page are served; false only in control-plane mode, and then `oidc` and `cookieKeys` are empty. */
  readonly servesLogin: boolean;
  readonly oidc: {
    readonly issuer: string;
    readonly clientId: string;
    readonly clientSecret: Secret<string>;
    readonly callbackUrl: string;
    readonly authorizeUrl: string | undefined;
  };
  readonly cookieKeys: { readonly signing: Secret<Buffer>; readonly encryption: Secret<Buffer> | undefined };
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly probePort: number;
  readonly leaseNamespace: string;
  /** Exact URLs besides loopback that a login may return to. */
  readonly allowedRedirects: readonly string[];
  /** Lifetime of an app cluster's credentials in seconds; undefined: they do not end. */
  readonly credentialSeconds: number | undefined;
  readonly limits: Limits;
  readonly verbose: boolean;
}

/** Several faults of the command line, one line each. */
export class ConfigError extends Error {
  readonly code = "Config";
}

const text = (fallback = ""): { readonly type: "string"; readonly default: string } => ({
  type: "string",
  default: fallback,
});
const flag = { type: "boolean", default: false } as const;

const options = {
  kubeconfig: text(),
  "namespace-prefix": text("cluster"),
  "pretty-name": text("Example Backend"),
  "consumer-scope": text("Namespaced"),
  "cluster-scoped-isolation": text("Prefixed"),
  "external-address": text(),
  "external-ca-file": text(),
  "external-server-name": text(),
  "oidc-issuer-client-id": text(),
  "oidc-issuer-client-secret": text(),
  "oidc-issuer-url": text(),
  "oidc-callback-url": text(),
  "oidc-authorize-url": text(),
  "cookie-signing-key": text(),
  "cookie-encryption-key": text(),
  "listen-address": text("127.0.0.1:8080"),
  "tls-cert-file": text(),
  "tls-key-file": text(),
  "control-plane-mode": flag,
  "konnector-image": text(`${konnectorRepository}:${klutchVersion}`),
  "allowed-image-prefix": { type: "string", multiple: true, default: [] as string[] },
  "probe-port": text("8081"),
  "lease-namespace": text("klutch-backend"),
  "allowed-redirect": { type: "string", multiple: true, default: [] as string[] },
  "credential-lifetime": text("24h"),
  "max-clusters": text(String(defaultLimits.clusters)),
  "max-clusters-per-user": text(String(defaultLimits.clustersPerUser)),
  "max-namespaces-per-cluster": text(String(defaultLimits.namespacesPerCluster)),
  "max-requests-per-cluster": text(String(defaultLimits.requestsPerCluster)),
  v: text("2"),
} as const;

/** Reads flags; secrets may also come from OIDC_CLIENT_SECRET, COOKIE_SIGNING_KEY, COOKIE_ENCRYPTION_KEY. */
export async function readConfig(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<BackendConfig> {
  const { values } = parseArgs({ args: [...args], options });
  const faults: string[] = [];
  const need = (name: string, value: string): string => {
    if (value === "") faults.push(`--${name} is required`);
    return value;
  };
  const controlPlaneMode = values["control-plane-mode"];
  // As in the existing backend: any flag of the login asks for all of them.
  const servesLogin =
    !controlPlaneMode ||
    Object.entries(values).some(([name, value]) => name.startsWith("oidc-") && value !== "");
  const needForLogin = (name: string, value: string): string => (servesLogin ? need(name, value) : "");
  const secretOf = (name: string, value: string, variable: string): string =>
    needForLogin(name, value === "" ? (env[variable] ?? "") : value);
  const external = values["external-address"];
  if (external !== "" && !external.startsWith("https://"))
    faults.push(`--external-address: ${external} must start with https://`);
  const listen = /^(?<host>.*):(?<port>\d+)$/.exec(values["listen-address"]);
  if (listen === null)
    faults.push(`--listen-address: ${JSON.stringify(values["listen-address"])} is not host:port`);
  const config: BackendConfig = {
    kubeconfig: values.kubeconfig || undefined,
    namespacePrefix: need("namespace-prefix", values["namespace-prefix"]),
    prettyName: need("pretty-name", values["pretty-name"]),
    consumerScope: choice("consumer-scope", values["consumer-scope"], ["Namespaced", "Cluster"], faults),
    clusterScopedIsolation: choice(
      "cluster-scoped-isolation",
      values["cluster-scoped-isolation"],
      ["Prefixed", "Namespaced", "None"],
      faults,
    ),
    external: {
      address: external || undefined,
      ca: await optionalFile("external-ca-file", values["external-ca-file"], faults),
      serverName: values["external-server-name"] || undefined,
    },
    controlPlaneMode,
    konnectorImage: need("konnector-image", values["konnector-image"]),
    allowedImagePrefixes: imagePrefixes(values["allowed-image-prefix"], values["konnector-image"], faults),
    servesLogin,
    oidc: {
      issuer: url("oidc-issuer-url", needForLogin("oidc-issuer-url", values["oidc-issuer-url"]), faults),
      clientId: needForLogin("oidc-issuer-client-id", values["oidc-issuer-client-id"]),
      clientSecret: new Secret(
        secretOf("oidc-issuer-client-secret", values["oidc-issuer-client-secret"], "OIDC_CLIENT_SECRET"),
      ),
      callbackUrl: url(
        "oidc-callback-url",
        needForLogin("oidc-callback-url", values["oidc-callback-url"]),
        faults,
      ),
      authorizeUrl: url("oidc-authorize-url", values["oidc-authorize-url"], faults) || undefined,
    },
    cookieKeys: {
      signing: cookieKey(
        "cookie-signing-key",
        secretOf("cookie-signing-key", values["cookie-signing-key"], "COOKIE_SIGNING_KEY"),
        [32, 64],
        faults,
      ),
      encryption: encryptionKey(
        values["cookie-encryption-key"] || (env["COOKIE_ENCRYPTION_KEY"] ?? ""),
        faults,
      ),
    },
    host: listen?.groups?.["host"] ?? "",
    port: Number(listen?.groups?.["port"]),
    tls: await tlsFiles(values["tls-cert-file"], values["tls-key-file"], faults),
    probePort: Number(values["probe-port"]),
    leaseNamespace: values["lease-namespace"],
    allowedRedirects: values["allowed-redirect"].map((value) => url("allowed-redirect", value, faults)),
    credentialSeconds: seconds(values["credential-lifetime"], faults),
    limits: {
      clusters: count("max-clusters", values["max-clusters"], faults),
      clustersPerUser: count("max-clusters-per-user", values["max-clusters-per-user"], faults),
      namespacesPerCluster: count("max-namespaces-per-cluster", values["max-namespaces-per-cluster"], faults),
      requestsPerCluster: count("max-requests-per-cluster", values["max-requests-per-cluster"], faults),
    },
    verbose: Number(values.v) > 2,
  };
  if (faults.length > 0) throw new ConfigError(faults.join("\n"));
  return config;
}
