/** One OpenSearch server with its security plugin: its configuration, how it starts, and requests of the broker. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { makeServerFolder, writeForServer } from "@klutch/data-servers";
import type { OpensearchProgram } from "@klutch/engines";
import { bcrypt } from "./bcrypt.ts";
import { adminUser, type Launch, type Place, type ServerSpec, type Session, Unstartable } from "./driver.ts";
import { listOf, oneOf, type ParameterChecks, textLike, wholeNumber } from "./parameters.ts";
import { askAsAdmin } from "./server-request.ts";

/** The role of bindings. */
const bindingRole = "binding";
/** Folders below the server's own. */
const configFolder = "config";
const securityFolder = join(configFolder, "opensearch-security");
const temporaryFolder = "tmp";
/** Beside the data, because a backup in the making does not count as data. */
const snapshotsFolder = "snapshots";
const timeoutMs = 60_000;
/** Java takes ten seconds on an idle machine. */
export const opensearchPatienceMs = 240_000;
/** Java's, when SIGTERM ended it in order. */
export const opensearchExitCode = 143;
/** MiB that Java takes besides the heap. */
const besidesHeap = 256;
const leastHeap = 256;

const cipher = textLike(/^TLS_[A-Z0-9_]{1,60}$/, "a cipher suite such as TLS_AES_256_GCM_SHA384");

/** Parameters of Java. Java 17 lacks the collector UseParallelOldGC. */
export const javaParameters: ParameterChecks = {
  java_heapspace: wholeNumber(leastHeap),
  java_maxmetaspace: wholeNumber(256, 1024),
  java_garbage_collector: oneOf("UseSerialGC", "UseParallelGC", "UseG1GC"),
};

/** Returns the checks of parameters of TLS, whose names begin with `prefix`. */
export function tlsParameters(prefix = ""): ParameterChecks {
  return {
    [`${prefix}tls-protocols`]: listOf(oneOf("TLSv1.2", "TLSv1.3"), 2, "a list of TLSv1.2 and TLSv1.3"),
    [`${prefix}tls-ciphers`]: listOf(cipher, 32, "a list of cipher suites"),
  };
}

/** Makes the folders of an empty server, and the accounts with which it begins. */
export async function initialiseOpensearch({ data, adminPassword }: Place): Promise<void> {
  for (const folder of [configFolder, securityFolder, temporaryFolder])
    await makeServerFolder(join(data, folder));
  for (const [file, content] of Object.entries(accountsOf(await bcrypt(adminPassword)))) {
    const meta = { type: file.replaceAll("_", ""), config_version: 2 };
    // JSON is YAML.
    const path = join(data, securityFolder, `${file}.yml`);
    await writeForServer(path, JSON.stringify({ _meta: meta, ...content }));
  }
}

/** Returns the contents of the plugin's files. It reads them once, into an index that no login can read. */
function accountsOf(hash: string): Readonly<Record<string, object>> {
  const basic = {
    http_enabled: true,
    transport_enabled: false,
    order: 0,
    http_authenticator: { type: "basic", challenge: true },
    authentication_backend: { type: "intern" },
  };
  // Everything with data and their templates; no accounts, settings of the cluster and snapshots.
  const rights = {
    cluster_permissions: [
      "cluster_composite_ops",
      "cluster_monitor",
      "cluster_manage_index_templates",
      "indices:data/read/point_in_time/*",
    ],
    index_permissions: [{ index_patterns: ["*"], allowed_actions: ["indices_all"] }],
  };
  const unlisted = { config: { enabled: false, requests: {} } };
  return {
    config: { config: { dynamic: { http: { anonymous_auth_enabled: false }, authc: { basic } } } },
    internal_users: { [adminUser]: { hash, reserved: true, backend_roles: ["admin"] } },
    roles: { [bindingRole]: { reserved: true, ...rights } },
    roles_mapping: { all_access: { reserved: true, backend_roles: ["admin"] } },
    action_groups: {},
    tenants: {},
    nodes_dn: {},
    whitelist: unlisted,
    allowlist: unlisted,
    audit: { config: { enabled: false } },
  };
}

/** Returns how to start the server. Throws `Unstartable` when the plan or the machine has less memory than it needs. */
export async function launchOpensearch(
  place: Place,
  spec: ServerSpec,
  { java, args }: OpensearchProgram,
  tlsPrefix = "",
): Promise<Launch> {
  const { parameters, memoryMiB } = spec;
  const heap = heapOf(spec);
  const lack = whyNoMemory(heap, memoryMiB, Math.floor(process.availableMemory() / 2 ** 20));
  if (lack !== undefined) throw new Unstartable(lack);
  await writeForServer(join(place.data, configFolder, "opensearch.yml"), configOf(place, spec, tlsPrefix));
  const metaspace = parameters["java_maxmetaspace"];
  return {
    command: java,
    args: [
      `-Xmx${heap}m`,
      `-XX:+${String(parameters["java_garbage_collector"] ?? "UseSerialGC")}`,
      ...(metaspace === undefined ? [] : [`-XX:MaxMetaspaceSize=${String(metaspace)}m`]),
      // Half the time to start, and half the memory of the compiler.
      "-XX:TieredStopAtLevel=1",
      "-XX:-UsePerfData",
      `-Djava.io.tmpdir=${join(place.data, temporaryFolder)}`,
      ...args,
      place.data,
    ],
    // Refused until the plugin has read its files.
    ready: () => askOpensearch(place, "GET", "/_plugins/_security/health?mode=strict").then(() => true),
  };
}

/** Returns the MiB of the heap. */
function heapOf({ memoryMiB, parameters }: ServerSpec): number {
  const wanted = parameters["java_heapspace"];
  return typeof wanted === "number" ? wanted : Math.max(leastHeap, Math.floor(memoryMiB / 4));
}

/** Explains why a server with this heap must not start: it would be killed, or other programs in its place. */
export function whyNoMemory(heap: number, memoryMiB: number, available: number): string | undefined {
  const needed = heap + besidesHeap;
  if (needed > memoryMiB)
    return `a heap of ${heap} MiB needs ${needed} MiB, but the plan has ${memoryMiB} MiB; set java_heapspace (javaHeapspace of a claim) to at most ${memoryMiB - besidesHeap}, or choose a larger plan`;
  if (needed > available)
    return `it needs ${needed} MiB of memory, but this machine has ${available} MiB; delete other instances, or choose a smaller plan`;
  return undefined;
}

function configOf(place: Place, { parameters }: ServerSpec, tlsPrefix: string): string {
  const { data, port, tls } = place;
  const files = (layer: string) => ({
    [`plugins.security.ssl.${layer}.pemcert_filepath`]: tls.certificate,
    [`plugins.security.ssl.${layer}.pemkey_filepath`]: tls.key,
    [`plugins.security.ssl.${layer}.pemtrustedcas_filepath`]: tls.authority,
  });
  return JSON.stringify({
    "cluster.name": "klutch",
    "discovery.type": "single-node",
    "http.host": listenAt(place),
    // A server that only the broker reaches takes any port, and writes which one.
    "http.port": port ?? 0,
    "node.portsfile": port === undefined,
    "path.logs": join(data, temporaryFolder),
    "path.repo": [snapshotsIn(place)],
    "transport.host": "127.0.0.1",
    "transport.port": 0,
    "node.processors": 1,
    "cluster.routing.allocation.disk.threshold_enabled": false,
    ...files("transport"),
    ...files("http"),
    "plugins.security.ssl.http.enabled": true,
    "plugins.security.ssl.http.enabled_protocols": parameters[`${tlsPrefix}tls-protocols`],
    "plugins.security.ssl.http.enabled_ciphers": parameters[`${tlsPrefix}tls-ciphers`],
    "plugins.security.allow_default_init_securityindex": true,
    "plugins.security.restapi.roles_enabled": ["all_access"],
    "plugins.security.system_indices.enabled": true,
    "plugins.security.audit.type": "noop",
  });
}

/** Returns the only folder in which the server may keep snapshots. */
export function snapshotsIn({ home }: Place): string {
  return join(home, snapshotsFolder);
}

const listenAt = ({ port, reach }: Place): string => (port === undefined ? "127.0.0.1" : reach.listen);

async function portOf({ data, port }: Place): Promise<number> {
  if (port !== undefined) return port;
  const addresses = await readFile(join(data, temporaryFolder, "http.ports"), "utf8");
  return Number(/:(\d+)\s*$/.exec(addresses)?.[1]);
}

/**
 * Calls the server as the broker, and returns the body of its answer. Throws when the server refuses; 404 is accepted for DELETE. Default of
 * `signal`: it aborts after a minute.
 */
export async function askOpensearch(
  place: Place,
  method: string,
  path: string,
  body?: string | object,
  signal: AbortSignal = AbortSignal.timeout(timeoutMs),
): Promise<string> {
  const request = { host: listenAt(place), port: await portOf(place), method, path, body, signal };
  return askAsAdmin(place, { ...request, server: "OpenSearch" });
}

/** Returns the session of a server that runs, whose bindings have all rights on its data. */
export function opensearchSession(place: Place): Omit<Session, "dump" | "fill"> {
  const users = "/_plugins/_security/api/internalusers";
  return {
    run: () => Promise.reject(new Error("OpenSearch has no commands of the broker")),
    async ensureLogin({ username, password }) {
      await askOpensearch(place, "PUT", `${users}/${username}`, {
        password,
        opendistro_security_roles: [bindingRole],
      });
    },
    async dropLogin(username) {
      await askOpensearch(place, "DELETE", `${users}/${username}`);
    },
    async setFull(isFull) {
      const path = "/*,-.opendistro_security/_settings?expand_wildcards=all&allow_no_indices=true";
      await askOpensearch(place, "PUT", path, { "index.blocks.read_only_allow_delete": isFull || null });
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
