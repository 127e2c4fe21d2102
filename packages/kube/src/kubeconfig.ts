/** The user's own kubeconfig: trusted, so it may name files and credential plugins. Foreign ones: foreign-kubeconfig.ts. */
import { readFile } from "node:fs/promises";
import { delimiter, dirname, join, resolve } from "node:path";
import { isRecord, listAt, recordAt, textAt } from "@klutch/kube-core";
import { Secret } from "@klutch/telemetry";
import type { ClusterAuth, ClusterConfig, Impersonation } from "./config.ts";
import { processEnvironment } from "./environment.ts";
import { KubeconfigError } from "./kubeconfig-errors.ts";
import { parseYaml } from "./yaml.ts";

/** Files to search and values to override; overrides win over the file, as kubectl's flags do. */
export interface LoadKubeconfigOptions {
  /** One file; default: the list in KUBECONFIG, else `~/.kube/config`. */
  readonly path?: string | undefined;
  readonly context?: string | undefined;
  readonly cluster?: string | undefined;
  readonly user?: string | undefined;
  readonly namespace?: string | undefined;
  readonly server?: string | undefined;
  readonly token?: Secret<string> | undefined;
  readonly insecureSkipTlsVerify?: boolean | undefined;
  readonly tlsServerName?: string | undefined;
  /** Path of a PEM file, from the working folder; so are the next two. */
  readonly certificateAuthority?: string | undefined;
  readonly clientCertificate?: string | undefined;
  readonly clientKey?: string | undefined;
  readonly impersonate?: Impersonation | undefined;
  /** Default: this process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

type ResolvedOptions = LoadKubeconfigOptions & { readonly env: Readonly<Record<string, string | undefined>> };

/** Entries of a kubeconfig by name; of the same name in several files the first counts, as in client-go. */
export interface KubeconfigParts {
  readonly clusters: ReadonlyMap<string, Entry>;
  readonly users: ReadonlyMap<string, Entry>;
  readonly contexts: ReadonlyMap<string, Entry>;
  readonly currentContext: string | undefined;
}

/** One named entry. */
export interface Entry {
  readonly value: Readonly<Record<string, unknown>>;
  /** Path of the field in the file, for messages. */
  readonly field: string;
  /** Folder that relative paths in the entry start from. */
  readonly folder: string;
}

/** Loads and merges kubeconfig files and resolves one context. Throws `KubeconfigError`. */
export async function loadKubeconfig(given: LoadKubeconfigOptions = {}): Promise<ClusterConfig> {
  const options = { ...given, env: given.env ?? processEnvironment() };
  const merged = await loadParts(options);
  const context = options.context ?? merged.currentContext;
  if (context === undefined) {
    throw new KubeconfigError(
      "Invalid",
      "current-context",
      "the kubeconfig names no current-context; pass --context",
    );
  }
  const contextEntry = entryOf(merged.contexts, context, "context").value;
  const cluster = entryOf(
    merged.clusters,
    options.cluster ?? textAt(contextEntry, "cluster") ?? "",
    "cluster",
  );
  const userName = options.user ?? textAt(contextEntry, "user") ?? "";
  const user = userName === "" ? undefined : entryOf(merged.users, userName, "user");
  return resolveConfig(context, contextEntry, cluster, user, options);
}

/** Names of a kubeconfig's entries, by section. */
interface KubeconfigNames {
  readonly contexts: readonly string[];
  readonly clusters: readonly string[];
  readonly users: readonly string[];
}

/** The names in the files that `loadKubeconfig` would load, in their order. Throws `KubeconfigError`. */
export async function kubeconfigNames(
  given: Pick<LoadKubeconfigOptions, "path" | "env"> = {},
): Promise<KubeconfigNames> {
  const parts = await loadParts({ ...given, env: given.env ?? processEnvironment() });
  return {
    contexts: [...parts.contexts.keys()],
    clusters: [...parts.clusters.keys()],
    users: [...parts.users.keys()],
  };
}

async function loadParts(options: ResolvedOptions): Promise<KubeconfigParts> {
  const paths = kubeconfigPaths(options);
  const texts = await Promise.all(paths.map((path) => readKubeconfig(path, paths.length === 1)));
  const parts = texts.flatMap((text, index) => {
    const path = paths[index];
    return text === undefined || path === undefined ? [] : [readParts(text, dirname(resolve(path)))];
  });
  if (parts.length === 0) {
    throw new KubeconfigError("NotFound", "KUBECONFIG", `no kubeconfig found at ${paths.join(", ")}`);
  }
  return mergeParts(parts);
}

function kubeconfigPaths(options: ResolvedOptions): string[] {
  if (options.path !== undefined && options.path !== "") return [options.path];
  const listed = (options.env["KUBECONFIG"] ?? "").split(delimiter).filter((path) => path !== "");
  return listed.length > 0 ? listed : [join(options.env["HOME"] ?? "", ".kube", "config")];
}

async function readKubeconfig(path: string, required: boolean): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    if (!required) return undefined;
    throw new KubeconfigError("NotFound", path, `kubeconfig ${path} cannot be read`, { cause });
  }
}

/** Reads one kubeconfig text into its named entries. Throws `KubeconfigError` when it is not one. */
export function readParts(text: string, folder: string): KubeconfigParts {
  let value: unknown;
  try {
    value = parseYaml(text);
  } catch {
    // The parser's message quotes the text, which may hold a credential.
    throw new KubeconfigError("Invalid", "", "the kubeconfig is not valid YAML");
  }
  if (!isRecord(value)) throw new KubeconfigError("Invalid", "", "the kubeconfig is not a YAML mapping");
  return {
    clusters: namedEntries(value, "clusters", "cluster", folder),
    users: namedEntries(value, "users", "user", folder),
    contexts: namedEntries(value, "contexts", "context", folder),
    currentContext: textAt(value, "current-context"),
  };
}

function namedEntries(
  config: Readonly<Record<string, unknown>>,
  list: string,
  field: string,
  folder: string,
): ReadonlyMap<string, Entry> {
  const entries = new Map<string, Entry>();
  for (const [index, item] of listAt(config, list).entries()) {
    if (!isRecord(item) || typeof item["name"] !== "string") {
      throw new KubeconfigError("Invalid", `${list}[${index}].name`, `${list}[${index}] has no name`);
    }
    if (!entries.has(item["name"])) {
      entries.set(item["name"], {
        value: recordAt(item, field),
        field: `${list}[${index}].${field}`,
        folder,
      });
    }
  }
  return entries;
}

function mergeParts(parts: readonly KubeconfigParts[]): KubeconfigParts {
  const merge = (pick: (part: KubeconfigParts) => ReadonlyMap<string, Entry>): ReadonlyMap<string, Entry> =>
    new Map(parts.toReversed().flatMap((part) => [...pick(part)]));
  return {
    clusters: merge((part) => part.clusters),
    users: merge((part) => part.users),
    contexts: merge((part) => part.contexts),
    currentContext: parts.map((part) => part.currentContext).find((name) => name !== undefined),
  };
}

/** Returns the entry called `name`. Throws `KubeconfigError` that names the missing entry. */
export function entryOf(entries: ReadonlyMap<string, Entry>, name: string, what: string): Entry {
  const entry = entries.get(name);
  if (entry === undefined) {
    throw new KubeconfigError("Invalid", what, `the kubeconfig has no ${what} named ${JSON.stringify(name)}`);
  }
  return entry;
}

async function resolveConfig(
  name: string,
  context: Readonly<Record<string, unknown>>,
  cluster: Entry,
  user: Entry | undefined,
  options: ResolvedOptions,
): Promise<ClusterConfig> {
  const server = options.server ?? textAt(cluster.value, "server");
  if (server === undefined) {
    throw new KubeconfigError("Invalid", `${cluster.field}.server`, `${cluster.field}.server is missing`);
  }
  const caPath = options.certificateAuthority;
  return {
    name,
    server,
    ca:
      caPath === undefined
        ? await fileOrData(cluster, "certificate-authority")
        : await readPem(caPath, "--certificate-authority"),
    insecureSkipTlsVerify:
      options.insecureSkipTlsVerify ?? cluster.value["insecure-skip-tls-verify"] === true,
    tlsServerName: options.tlsServerName ?? textAt(cluster.value, "tls-server-name"),
    namespace: options.namespace ?? textAt(context, "namespace"),
    auth: (await authOverride(options)) ?? (await resolveAuth(user, options)),
    impersonate: options.impersonate,
  };
}

async function authOverride(options: ResolvedOptions): Promise<ClusterAuth | undefined> {
  const { token, clientCertificate, clientKey } = options;
  if (token !== undefined) return { kind: "token", token };
  if (clientCertificate === undefined || clientKey === undefined) return undefined;
  const cert = await readPem(clientCertificate, "--client-certificate");
  return { kind: "clientCertificate", cert, key: new Secret(await readPem(clientKey, "--client-key")) };
}

async function resolveAuth(user: Entry | undefined, options: ResolvedOptions): Promise<ClusterAuth> {
  if (user === undefined) return { kind: "none" };
  const { value, field } = user;
  const token = textAt(value, "token");
  if (token !== undefined) return { kind: "token", token: new Secret(token) };
  const tokenFile = textAt(value, "tokenFile");
  if (tokenFile !== undefined) return { kind: "tokenFile", path: resolve(user.folder, tokenFile) };
  const cert = await fileOrData(user, "client-certificate");
  const key = await fileOrData(user, "client-key");
  if (cert !== undefined && key !== undefined)
    return { kind: "clientCertificate", cert, key: new Secret(key) };
  const exec = value["exec"];
  if (isRecord(exec)) return execAuth(exec, field, options.env);
  const username = textAt(value, "username");
  const password = textAt(value, "password");
  if (username !== undefined && password !== undefined) {
    return { kind: "basic", username, password: new Secret(password) };
  }
  if (Object.keys(value).length === 0) return { kind: "none" };
  throw new KubeconfigError(
    "Invalid",
    field,
    `${field} holds no credential that is supported (${Object.keys(value).join(", ")})`,
  );
}

function execAuth(
  exec: Readonly<Record<string, unknown>>,
  field: string,
  env: Readonly<Record<string, string | undefined>>,
): ClusterAuth {
  const command = textAt(exec, "command");
  if (command === undefined)
    throw new KubeconfigError("Invalid", `${field}.exec.command`, `${field}.exec.command is missing`);
  const merged: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) if (value !== undefined) merged[name] = value;
  for (const item of listAt(exec, "env")) {
    if (isRecord(item)) merged[String(item["name"])] = String(item["value"]);
  }
  return {
    kind: "exec",
    command,
    args: listAt(exec, "args").map(String),
    env: merged,
    apiVersion: textAt(exec, "apiVersion") ?? "client.authentication.k8s.io/v1",
  };
}

async function fileOrData(entry: Entry, name: string): Promise<string | undefined> {
  const data = textAt(entry.value, `${name}-data`);
  if (data !== undefined) return Buffer.from(data, "base64").toString("utf8");
  const path = textAt(entry.value, name);
  if (path === undefined) return undefined;
  return readPem(resolve(entry.folder, path), `${entry.field}.${name}`);
}

async function readPem(path: string, field: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new KubeconfigError("Invalid", field, `${field}: ${path} cannot be read`, { cause });
  }
}
