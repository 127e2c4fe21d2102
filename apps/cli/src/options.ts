/** The flags, as typed values. */
import {
  displayName,
  displayNameLimit,
  type LoginWish,
  parseRegistry,
  printable,
  type Registry,
  RegistryError,
  wishProblem,
} from "@klutch/api";
import { type LoadKubeconfigOptions } from "@klutch/kube";
import { parseDuration } from "@klutch/kube-core";
import { Secret } from "@klutch/telemetry";
import { CliError } from "./errors.ts";
import { type FollowUpdates, followUpdatesOption } from "./follow-updates.ts";
import { addressProblem } from "./http.ts";

/** Output format of objects. */
export type OutputFormat = "yaml" | "json" | "name";

/** Answer to a provider's permission claims when no one can be asked. */
export type ClaimAnswer = "ask" | "accept" | "reject";

/** Flags of every command. */
export interface CommonOptions {
  /** The app cluster; the same for every step of a command. */
  readonly connection: LoadKubeconfigOptions;
  readonly requestTimeoutMs: number | undefined;
  readonly dryRun: boolean;
  /** Output format. Default: yaml for a dry run, a table for bindings. */
  readonly output: OutputFormat | undefined;
  readonly showManagedFields: boolean;
  readonly skipKonnector: boolean;
  readonly downgradeKonnector: boolean;
  readonly konnectorImage: string | undefined;
  /** Registry of the konnector's image. Default: the registry of releases. */
  readonly registry: Registry | undefined;
  readonly claims: ClaimAnswer;
  /** Write the policies by which the app cluster marks new claims itself. */
  readonly marksAtAdmission: boolean;
  /** Updates that the konnector follows from now on. Default: as before. */
  readonly followUpdates: FollowUpdates | undefined;
  /** Maximum time of each wait. */
  readonly timeoutMs: number;
}

/** Flags of `bind <url>`. */
export interface BindOptions extends CommonOptions {
  readonly browser: boolean;
  /** The login may be at this origin as well. */
  readonly allowAuthorizeUrl: string | undefined;
  /** Name of the app cluster for the provider's operators. Default: that of its kubeconfig context. */
  readonly clusterName: string | undefined;
  /** Subject or verified e-mail address of the person who logs in; instead of a question. */
  readonly loginAs: string | undefined;
  /** APIs that the page of the login selects in advance; those to bind after a login on another device. */
  readonly wish: LoginWish;
  /** Log in on another device than this machine; then the wish names APIs. */
  readonly device: boolean;
  /** Log in even if there is a session of `klutch login`. */
  readonly login: boolean;
  /** Path, or `-`, of an access token that takes the place of the login; then `wish` names APIs. */
  readonly tokenFile: string | undefined;
}

/** Flags of `bind apiservice`. */
export interface BindApiServiceOptions extends CommonOptions {
  /** Path or `-`. */
  readonly file: string | undefined;
  readonly remoteKubeconfig: string | undefined;
  readonly remoteKubeconfigNamespace: string | undefined;
  readonly remoteKubeconfigName: string | undefined;
  readonly remoteNamespace: string | undefined;
}

type Values = Readonly<Record<string, unknown>>;

const text = (values: Values, name: string): string | undefined => {
  const value = values[name];
  return typeof value === "string" && value !== "" ? value : undefined;
};
const flag = (values: Values, name: string): boolean => values[name] === true;

/** Reads the flags that all commands share. Throws `CliError` naming the flag. */
export function commonOptions(values: Values, env: CommonEnvironment): CommonOptions {
  if (flag(values, "acceptPermissions") && flag(values, "rejectPermissions")) {
    throw new CliError("Usage", "--accept-permissions and --reject-permissions exclude each other.");
  }
  return {
    connection: connectionOptions(values, env),
    requestTimeoutMs: durationMs(text(values, "requestTimeout"), "--request-timeout"),
    dryRun: flag(values, "dryRun"),
    output: readFormat(text(values, "output"), ["yaml", "json", "name"]),
    showManagedFields: flag(values, "showManagedFields"),
    skipKonnector: flag(values, "skipKonnector"),
    downgradeKonnector: flag(values, "downgradeKonnector"),
    konnectorImage: text(values, "konnectorImage"),
    registry: registryOption(values),
    claims: flag(values, "acceptPermissions")
      ? "accept"
      : flag(values, "rejectPermissions")
        ? "reject"
        : "ask",
    marksAtAdmission: flag(values, "marksAtAdmission"),
    followUpdates: followUpdatesOption(text(values, "followUpdates")),
    timeoutMs: durationMs(text(values, "timeout"), "--timeout") ?? defaultTimeoutMs,
  };
}

/** Throws `CliError` naming the flag, also for one that is set to nothing. */
export function registryOption(values: Values): Registry | undefined {
  const value = values["registry"];
  if (typeof value !== "string") return undefined;
  if (text(values, "konnectorImage") !== undefined)
    throw new CliError("Usage", "--registry and --konnector-image exclude each other: both name the image.");
  try {
    return parseRegistry(value);
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    throw new CliError("Usage", `${error.message}.`, { cause: error });
  }
}

type CommonEnvironment = Readonly<Record<string, string | undefined>>;
const defaultTimeoutMs = 600_000;

/** Reads the flags that choose a cluster and a user. Throws `CliError` Usage. */
export function connectionOptions(values: Values, env: CommonEnvironment): LoadKubeconfigOptions {
  const token = text(values, "token");
  const as = text(values, "as");
  const groups = Array.isArray(values["asGroup"]) ? values["asGroup"].map(String) : [];
  if (as === undefined && (groups.length > 0 || text(values, "asUid") !== undefined)) {
    throw new CliError("Usage", "--as-group and --as-uid need --as.");
  }
  return {
    path: text(values, "kubeconfig"),
    context: text(values, "context"),
    cluster: text(values, "cluster"),
    user: text(values, "user"),
    namespace: text(values, "namespace"),
    server: text(values, "server"),
    token: token === undefined ? undefined : new Secret(token),
    insecureSkipTlsVerify: flag(values, "insecureSkipTlsVerify") ? true : undefined,
    tlsServerName: text(values, "tlsServerName"),
    certificateAuthority: text(values, "certificateAuthority"),
    clientCertificate: text(values, "clientCertificate"),
    clientKey: text(values, "clientKey"),
    impersonate: as === undefined ? undefined : { user: as, groups, uid: text(values, "asUid") },
    env,
  };
}

/** Reads `-o`; undefined is the form for people. Throws `CliError` Usage with the allowed formats. */
export function readFormat<F extends string>(value: unknown, formats: readonly F[]): F | undefined {
  const found = formats.find((format) => format === value);
  if (value === undefined || found !== undefined) return found;
  throw new CliError(
    "Usage",
    `Unknown output format -o ${JSON.stringify(value)}: use ${formats.join(", ")}, or omit the flag.`,
  );
}

/** Go's short form in whole numbers (`90s`, `10m`, `1m30s`), or seconds; "0" means none. */
export function durationMs(value: string | undefined, name: string): number | undefined {
  if (value === undefined || value === "0") return undefined;
  const result = parseDuration(/^\d+$/.test(value) ? `${value}s` : value);
  if (result === undefined || value.includes("."))
    throw new CliError("Usage", `${name} ${value} is not a duration; write for example 30s or 10m.`);
  return result;
}

/** Reads the flags of `bind apiservice` and checks that they fit together. */
export function bindApiServiceOptions(
  values: Values,
  url: string | undefined,
  env: CommonEnvironment,
): BindApiServiceOptions {
  const options = {
    ...commonOptions(values, env),
    file: text(values, "file"),
    remoteKubeconfig: text(values, "remoteKubeconfig"),
    remoteKubeconfigNamespace: text(values, "remoteKubeconfigNamespace"),
    remoteKubeconfigName: text(values, "remoteKubeconfigName"),
    remoteNamespace: text(values, "remoteNamespace"),
  };
  const wishes = ["api", "service", "all"].filter((name) => values[name] !== undefined);
  const problems = [
    flag(values, "device") ? "--device cannot be used with apiservice, which needs no login" : undefined,
    wishes.length > 0
      ? `--${wishes.join(" and --")} cannot be used with apiservice, where the manifest names the APIs`
      : undefined,
    (options.file === undefined) === (url === undefined)
      ? "give either -f <file> or the URL of a manifest"
      : undefined,
    (options.remoteKubeconfigNamespace === undefined) !== (options.remoteKubeconfigName === undefined)
      ? "--remote-kubeconfig-namespace and --remote-kubeconfig-name go together"
      : undefined,
    (options.remoteKubeconfig === undefined) === (options.remoteKubeconfigName === undefined)
      ? "give either --remote-kubeconfig, or --remote-kubeconfig-namespace with --remote-kubeconfig-name"
      : undefined,
  ].filter((problem) => problem !== undefined);
  if (problems.length > 0) throw new CliError("Usage", `${problems.join("; ")}.`);
  return options;
}

/** Throws `CliError` Usage for a name that the provider would change. */
function clusterNameOption(name: string | undefined): string | undefined {
  if (name === displayName(name)) return name;
  throw new CliError(
    "Usage",
    `--cluster-name ${JSON.stringify(name).slice(0, displayNameLimit)} cannot be shown: use 1 to ${displayNameLimit} characters on one line, without control characters or runs of spaces.`,
  );
}

/** Reads --api, --service and --all. Throws `CliError` Usage naming the flag. */
function wishOption(values: Values): LoginWish {
  const { api, service, all } = values;
  const lists = Array.isArray(api) ? api.map(String) : undefined;
  const given = [lists, service, all].filter((value) => value !== undefined);
  if (given.length > 1)
    throw new CliError("Usage", "--api, --service and --all exclude each other: pass one of them.");
  if (lists !== undefined) {
    const names = lists.flatMap((list) => list.split(",")).map((name) => name.trim());
    return possibleWish("--api", { kind: "apis", names });
  }
  if (typeof service === "string") return possibleWish("--service", { kind: "service", service });
  return { kind: all === true ? "all" : "none" };
}

/** Reads --token-file. Throws `CliError` Usage if it does not go with the other flags. */
function tokenFileOption(values: Values, wish: LoginWish): string | undefined {
  const tokenFile = text(values, "tokenFile");
  if (tokenFile === undefined) return undefined;
  if (flag(values, "device"))
    throw new CliError(
      "Usage",
      "--device and --token-file exclude each other: with a token no person logs in.",
    );
  const problem = tokenProblem(wish, text(values, "loginAs"));
  if (problem !== undefined) throw new CliError("Usage", problem);
  return tokenFile;
}

/** Returns why these flags do not go together, as a sentence; undefined if they do. A token without an API has no page to choose on. */
function tokenProblem(wish: LoginWish, loginAs: string | undefined): string | undefined {
  if (loginAs !== undefined)
    return "--login-as and --token-file exclude each other: with a token no person logs in.";
  const names = wish.kind === "apis" ? wish.names : [];
  const short = names.find((name) => !name.includes("."));
  if (names.length > 0 && short === undefined) return undefined;
  const found = short === undefined ? "" : ` --api ${printable(short)} has no group.`;
  return `--token-file needs --api with each name as <resource>.<group>, because there is no page to choose on.${found}`;
}

function possibleWish(name: string, wish: LoginWish): LoginWish {
  const problem = wishProblem(wish);
  if (problem === undefined) return wish;
  throw new CliError("Usage", `${name} ${problem}.`);
}

function authorizeUrlOption(values: Values): string | undefined {
  const allowAuthorizeUrl = text(values, "allowAuthorizeUrl");
  const problem = allowAuthorizeUrl === undefined ? undefined : addressProblem(allowAuthorizeUrl);
  if (problem !== undefined) throw new CliError("Usage", `--allow-authorize-url ${problem}.`);
  return allowAuthorizeUrl;
}

/** Flags of a login: those of `klutch login`, which `bind <url>` has, too. */
export type LoginFlags = Pick<
  BindOptions,
  "browser" | "device" | "allowAuthorizeUrl" | "loginAs" | "timeoutMs"
>;

/** Reads the flags of `klutch login`. Throws `CliError` naming the flag. */
export function loginOptions(values: Values): LoginFlags {
  return {
    browser: values["browser"] !== false,
    device: flag(values, "device"),
    allowAuthorizeUrl: authorizeUrlOption(values),
    loginAs: text(values, "loginAs"),
    timeoutMs: durationMs(text(values, "timeout"), "--timeout") ?? defaultTimeoutMs,
  };
}

/** Reads the flags of `bind <url>`. */
export function bindOptions(values: Values, env: CommonEnvironment): BindOptions {
  const allowAuthorizeUrl = authorizeUrlOption(values);
  const wish = wishOption(values);
  const device = flag(values, "device");
  if (device && wish.kind === "none")
    throw new CliError(
      "Usage",
      "--device needs --service, --api or --all, because a login on another device has no page to choose APIs on.",
    );
  return {
    ...commonOptions(values, env),
    browser: values["browser"] !== false,
    allowAuthorizeUrl,
    clusterName: clusterNameOption(text(values, "clusterName")),
    loginAs: text(values, "loginAs"),
    wish,
    device,
    login: flag(values, "login"),
    tokenFile: tokenFileOption(values, wish),
  };
}
