/** The configuration of the backend. All faults are reported at once. */
import { randomUUID } from "node:crypto";
import { artefact, type ClusterScopedIsolation, type InformerScope, klutchVersion } from "@klutch/api";
import { CertificateError, readServedCertificate, type ServedCertificate } from "@klutch/kube-runtime";
import {
  address,
  ConfigError,
  identityFlag,
  kubeconfigFlag,
  oneOf,
  optionalText,
  port,
  type Program,
  readFlags,
  text,
  toggle,
  type ValuesOf,
  wholeNumber,
} from "@klutch/program";
import { type LogLevel, Secret } from "@klutch/telemetry";
import { repositoryOf } from "./app-cluster-bindings/override-policy.ts";
import type { Assets } from "./console/assets.ts";
import { consoleFlags, consoleOf } from "./console-flags.ts";
import { tenantFlags } from "./tenant-flags.ts";
import { ciFlags, ciRulesOf } from "./ci-flags.ts";
import { userFlags, userRulesOf } from "./user-flags.ts";
import { deviceFault, deviceFlags } from "./device-flags.ts";
import {
  cookieKey,
  fileContent,
  httpsAddress,
  imagePrefixes,
  lifetime,
  readableFile,
  scopes,
  secureUrl,
  secureUrls,
  sessionLifetime,
} from "./config-values.ts";
import { defaultLimits, type Limits } from "./limits.ts";
import type { UserRules } from "./authorization/user-claims.ts";
import type { CiRules } from "./login/access-token.ts";

/** Configuration of the backend. */
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
  /** True to reconcile AppClusterBindings. */
  readonly controlPlaneMode: boolean;
  /** Image of the konnectors that the control-plane mode deploys. */
  readonly konnectorImage: string;
  /** Repositories, or what they start with, of images that overrides of an AppClusterBinding may name. */
  readonly allowedImagePrefixes: readonly string[];
  /** True to serve login and binding page; false only in control-plane mode, and then `oidc` and `cookieKeys` are empty. */
  readonly servesLogin: boolean;
  readonly oidc: {
    readonly issuer: string;
    readonly clientId: string;
    readonly clientSecret: Secret<string>;
    readonly callbackUrl: string;
    readonly authorizeUrl: string | undefined;
    readonly extraScopes: readonly string[];
    readonly userRules: UserRules;
    /** Undefined if no one may log in on another device. */
    readonly deviceClientId: string | undefined;
    /** Undefined if no program may bind. */
    readonly ci: CiRules | undefined;
  };
  /** Decides who may bind an API. */
  readonly bindAuthorization: "everyone" | "rbac";
  readonly cookieKeys: { readonly signing: Secret<Buffer>; readonly encryption: Secret<Buffer> | undefined };
  /** Host to listen on; undefined means all interfaces. */
  readonly host: string | undefined;
  readonly port: number;
  /** Certificate at the start of the process, which follows its files from then on. */
  readonly tls: ServedCertificate | undefined;
  readonly probePort: number;
  readonly leaseNamespace: string;
  /** Exact URLs besides loopback that a login may return to. */
  readonly allowedRedirects: readonly string[];
  /** True to refuse logins of plugins that cannot confirm them. */
  readonly requireConfirmedLogin: boolean;
  /** Lifetime of sessions of people for scripts, in seconds; undefined: there are none. */
  readonly sessionSeconds: number | undefined;
  /** Pages of the console; undefined: it is not served. */
  readonly consoleAssets?: Assets | undefined;
  /** Lifetime of sessions of the console in seconds; undefined: there are none, and no console. */
  readonly consoleSeconds?: number | undefined;
  /** True to let people act in the console. Default false. */
  readonly consoleActs?: boolean | undefined;
  /** Proxies in front that append to `X-Forwarded-For`. */
  readonly trustedProxies: number;
  /** Lifetime of an app cluster's credentials in seconds; undefined: they do not end. */
  readonly credentialSeconds: number | undefined;
  readonly limits: Limits;
  /** Probes of one app cluster that are answered in a minute; 0: none. Default 12. */
  readonly canaryAnswersPerMinute?: number | undefined;
  /** Tenants that metrics show each by itself. Default 50. */
  readonly metricsTenants?: number | undefined;
  /** The holder of the lease; unique among the replicas. */
  readonly identity: string;
  readonly logLevel: LogLevel;
}

const unlessDisabled = "(required unless login is disabled)";
const limit = (help: string, most: number): ReturnType<typeof wholeNumber> =>
  wholeNumber({ help, default: String(most) }, { least: 1 });

/** Flags by name. Those of the login are required unless the backend serves only control-plane mode. */
const backendFlags = {
  kubeconfig: kubeconfigFlag,
  "namespace-prefix": text({ help: "Prefix of the names of cluster namespaces", default: "cluster" }),
  "pretty-name": optionalText({
    help: "Provider name shown on the binding page and by kubectl bind",
    default: "Example Backend",
  }),
  "consumer-scope": oneOf(["Namespaced", "Cluster"], {
    help: "Scope of an app cluster's rights on exported kinds: its service namespaces, or the whole cluster",
    default: "Namespaced",
  }),
  "cluster-scoped-isolation": oneOf(["Prefixed", "Namespaced", "None"], {
    help: "How to separate cluster-scoped objects of different app clusters",
    default: "Prefixed",
  }),
  "external-address": httpsAddress({
    help: "URL of the control plane's API server for app clusters. Default: the URL that the backend itself uses",
  }),
  "external-ca-file": fileContent({
    help: "File with the CA certificates for --external-address. Default: the CA that the backend itself uses",
  }),
  "external-server-name": optionalText({
    help: "Server name to verify the certificate of --external-address against",
  }),
  "oidc-issuer-client-id": optionalText({ help: `Client ID at the identity provider ${unlessDisabled}` }),
  "oidc-issuer-client-secret": optionalText({
    help: `Client secret at the identity provider ${unlessDisabled}`,
    env: "OIDC_CLIENT_SECRET",
    secret: true,
  }),
  "oidc-issuer-url": secureUrl({ help: `URL of the OpenID Connect identity provider ${unlessDisabled}` }),
  "oidc-callback-url": secureUrl({
    help: `Public URL of this backend's /callback endpoint ${unlessDisabled}`,
  }),
  "oidc-authorize-url": secureUrl({
    help: "URL where kubectl bind starts the login. Default: /authorize beside --oidc-callback-url",
  }),
  ...deviceFlags,
  "oidc-extra-scope": scopes({
    help: "Scope to ask the identity provider for, in addition to openid, profile and email; Dex sends groups only for the scope groups",
  }),
  ...userFlags,
  ...ciFlags,
  "bind-authorization": oneOf(["everyone", "rbac"], {
    help: "Who may bind an API: everyone who can log in, or those with the verb bind on its APIServiceExportTemplate",
    default: "rbac",
  }),
  "cookie-signing-key": cookieKey(
    {
      help: `Key to sign cookies, 32 or 64 bytes in base64 ${unlessDisabled}`,
      env: "COOKIE_SIGNING_KEY",
    },
    [32, 64],
  ),
  "cookie-encryption-key": cookieKey(
    { help: "Key to encrypt cookies, 16, 24 or 32 bytes in base64", env: "COOKIE_ENCRYPTION_KEY" },
    [16, 24, 32],
  ),
  "listen-address": address({
    help: "Address to serve the login and the binding page on",
    default: "127.0.0.1:8080",
  }),
  "tls-cert-file": readableFile({
    help: "File with the TLS certificate for --listen-address; requires --tls-key-file. Changes are picked up while the backend runs",
  }),
  "tls-key-file": readableFile({
    help: "File with the TLS private key for --listen-address. Default: serve plain HTTP",
  }),
  "control-plane-mode": toggle({
    help: "Reconcile AppClusterBindings; disables login unless an --oidc flag is set",
  }),
  "konnector-image": text({
    help: "Image of the konnectors that control-plane mode deploys",
    default: artefact("konnector"),
  }),
  "allowed-image-prefix": imagePrefixes({
    help: "Image prefix that overrides of an AppClusterBinding may use. Default: the repository of --konnector-image",
  }),
  "probe-port": port({
    help: "Port to serve /healthz, /readyz and /metrics on, on the host of --listen-address; 0 picks a free port",
    default: "8081",
  }),
  "lease-namespace": text({ help: "Namespace of the leader election lease", default: "klutch-backend" }),
  identity: identityFlag,
  "allowed-redirect": secureUrls({
    help: "URL that a login may redirect to, in addition to loopback addresses",
  }),
  "require-confirmed-login": toggle({
    help: "Refuse logins of plugins that cannot confirm them: an earlier kubectl bind, or one in Go",
  }),
  "session-lifetime": sessionLifetime({
    help: "Lifetime of the sessions of klutch login, by which a person's scripts bind APIs: 1m to 24h, or off for none",
    default: "1h",
  }),
  ...consoleFlags,
  "trusted-proxies": wholeNumber(
    {
      help: "Number of proxies in front that append to X-Forwarded-For, to tell callers apart by their addresses",
      default: "0",
    },
    { least: 0, most: 10 },
  ),
  "credential-lifetime": lifetime({
    help: "Lifetime of the credentials issued to an app cluster",
    default: "24h",
  }),
  "max-clusters": limit("Maximum number of app clusters", defaultLimits.clusters),
  "max-clusters-per-user": limit("Maximum number of app clusters per user", defaultLimits.clustersPerUser),
  "max-namespaces-per-cluster": limit(
    "Maximum number of mapped namespaces per app cluster",
    defaultLimits.namespacesPerCluster,
  ),
  "max-requests-per-cluster": limit(
    "Maximum number of export requests per app cluster",
    defaultLimits.requestsPerCluster,
  ),
  ...tenantFlags,
  v: wholeNumber(
    { short: "v", help: "Log verbosity; values above 2 enable debug logs", default: "2" },
    { least: 0 },
  ),
};

/** The backend and its flags. */
export const backendProgram: Program<BackendConfig> = {
  name: "backend",
  version: klutchVersion,
  summary: "binds app clusters to this control plane: login, binding page, exports, service namespaces",
  flags: backendFlags,
  readConfig: ({ args, env }) => readConfig(args, env),
};

type Values = ValuesOf<typeof backendFlags>;

/** Reads flags and environment. Rejects with `ConfigError`. */
export async function readConfig(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<BackendConfig> {
  const { values, faults, given } = readFlags(backendFlags, { args, env });
  const controlPlaneMode = values["control-plane-mode"];
  // As in the existing backend: any flag of the login asks for all of them.
  const servesLogin = !controlPlaneMode || [...given].some((name) => name.startsWith("oidc-"));
  if (servesLogin) requireLogin(values, faults);
  else if (given.has("ci-clients"))
    faults.push("--ci-clients needs a login: set the --oidc flags, whose issuer the access tokens are of");
  const device = deviceFault(values);
  if (device !== undefined) faults.push(device);
  const tls = await certificateOf(values, given, faults);
  const consoleValues = await consoleOf(values, servesLogin, faults);
  if (faults.length > 0) throw new ConfigError(faults);
  return {
    ...ofControlPlane(values),
    ...ofLogin(values, servesLogin),
    ...ofServers(values),
    tls,
    ...consoleValues,
    bindAuthorization: values["bind-authorization"],
    servesLogin,
    controlPlaneMode,
    identity: values.identity ?? randomUUID(),
    limits: {
      clusters: values["max-clusters"],
      clustersPerUser: values["max-clusters-per-user"],
      namespacesPerCluster: values["max-namespaces-per-cluster"],
      requestsPerCluster: values["max-requests-per-cluster"],
    },
    canaryAnswersPerMinute: values["canary-answers-per-minute"],
    metricsTenants: values["metrics-tenants"],
    logLevel: values.v > 2 ? "debug" : "info",
  };
}

const loginFlags = [
  "oidc-issuer-url",
  "oidc-issuer-client-id",
  "oidc-issuer-client-secret",
  "oidc-callback-url",
  "cookie-signing-key",
] as const;

function requireLogin(values: Values, faults: string[]): void {
  for (const name of loginFlags) {
    const isFaulty = faults.some((fault) => fault.startsWith(`--${name}:`));
    if ((values[name] ?? "") === "" && !isFaulty) faults.push(`--${name} is required`);
  }
}

async function certificateOf(
  values: Values,
  given: ReadonlySet<string>,
  faults: string[],
): Promise<BackendConfig["tls"]> {
  if (given.has("tls-cert-file") !== given.has("tls-key-file")) {
    faults.push(
      "--tls-cert-file and --tls-key-file must be set together: with only one the backend would serve plain HTTP",
    );
  }
  const { "tls-cert-file": cert, "tls-key-file": key } = values;
  if (cert === undefined || key === undefined) return undefined;
  try {
    return await readServedCertificate({ cert, key });
  } catch (error) {
    if (!(error instanceof CertificateError)) throw error;
    faults.push(`--tls-${error.file}-file: ${error.message}`);
    return undefined;
  }
}

function ofControlPlane(
  values: Values,
): Pick<
  BackendConfig,
  | "kubeconfig"
  | "namespacePrefix"
  | "prettyName"
  | "consumerScope"
  | "clusterScopedIsolation"
  | "external"
  | "konnectorImage"
  | "allowedImagePrefixes"
  | "leaseNamespace"
  | "credentialSeconds"
> {
  const prefixes = values["allowed-image-prefix"];
  return {
    kubeconfig: values.kubeconfig,
    namespacePrefix: values["namespace-prefix"],
    prettyName: values["pretty-name"] ?? "",
    consumerScope: values["consumer-scope"],
    clusterScopedIsolation: values["cluster-scoped-isolation"],
    external: {
      address: values["external-address"],
      ca: values["external-ca-file"],
      serverName: values["external-server-name"],
    },
    konnectorImage: values["konnector-image"],
    allowedImagePrefixes: prefixes.length === 0 ? [repositoryOf(values["konnector-image"])] : prefixes,
    leaseNamespace: values["lease-namespace"],
    credentialSeconds: values["credential-lifetime"],
  };
}

/** Returns the login's configuration; empty if no login is served. */
function ofLogin(
  values: Values,
  servesLogin: boolean,
): Pick<
  BackendConfig,
  "oidc" | "cookieKeys" | "allowedRedirects" | "requireConfirmedLogin" | "sessionSeconds" | "trustedProxies"
> {
  const only = (value: string | undefined): string => (servesLogin ? (value ?? "") : "");
  return {
    oidc: {
      issuer: only(values["oidc-issuer-url"]),
      clientId: only(values["oidc-issuer-client-id"]),
      clientSecret: new Secret(only(values["oidc-issuer-client-secret"])),
      callbackUrl: only(values["oidc-callback-url"]),
      authorizeUrl: values["oidc-authorize-url"] || undefined,
      extraScopes: values["oidc-extra-scope"],
      userRules: userRulesOf(values),
      deviceClientId: values["oidc-device-client-id"],
      ci: ciRulesOf(values),
    },
    cookieKeys: {
      signing: (servesLogin ? values["cookie-signing-key"] : undefined) ?? new Secret(Buffer.alloc(0)),
      encryption: values["cookie-encryption-key"],
    },
    allowedRedirects: values["allowed-redirect"],
    requireConfirmedLogin: values["require-confirmed-login"],
    sessionSeconds: values["session-lifetime"],
    trustedProxies: values["trusted-proxies"],
  };
}

function ofServers(values: Values): Pick<BackendConfig, "host" | "port" | "probePort"> {
  return { ...values["listen-address"], probePort: values["probe-port"] };
}
