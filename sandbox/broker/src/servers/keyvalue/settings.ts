/** The configuration of a key-value server. Pure. */
import { join } from "node:path";
import type { Place, ServerSpec } from "../kind.ts";
import { passwordDigest } from "./accounts.ts";
import { dataBytes } from "./parameters.ts";

/** In `home`. */
export const configurationFile = "server.conf";
/** In the server's own folder. */
export const socketName = "socket";
export const usersFile = "users.acl";
export const snapshotFile = "dump.rdb";
/** The broker's own account. */
export const adminUser = "klutch";
/** Beside those of the plan: the broker's. */
const ownConnections = 4;

/** Lines of the file. The server does not listen on its port before the broker opens it. */
export function configuration(place: Place, spec: ServerSpec): string {
  const { parameters, memoryMiB } = spec;
  const bytes = dataBytes(memoryMiB, parameters);
  const text = (name: string, otherwise: string): string => String(parameters[name] ?? otherwise);
  const lines = [
    "port 0",
    "tls-port 0",
    `bind ${bindAddresses(place)}`,
    `unixsocket ${socketName}`,
    "unixsocketperm 700",
    "daemonize no",
    // The command line goes on saying whose server it is.
    "set-proc-title no",
    'dir "."',
    `aclfile ${usersFile}`,
    // Whoever holds neither account holds nothing; the users' file closes this one.
    "protected-mode yes",
    "enable-debug-command no",
    "enable-module-command no",
    "enable-protected-configs no",
    ...memoryLines(spec, bytes),
    `maxmemory-policy ${text("maxmemory-policy", "noeviction")}`,
    `maxmemory-samples ${text("maxmemory-samples", "5")}`,
    `lazyfree-lazy-eviction ${text("lazyfree-lazy-eviction", "no")}`,
    `lazyfree-lazy-expire ${text("lazyfree-lazy-expire", "no")}`,
    `lua-time-limit ${text("lua-time-limit", "5000")}`,
    `notify-keyspace-events "${text("notify-keyspace-events", "")}"`,
    ...durabilityLines(place, spec, bytes),
    ...tlsLines(place, spec),
  ];
  return `${lines.join("\n")}\n`;
}

/** For this server `::` means IPv6 alone. */
function bindAddresses({ reach }: Place): string {
  return reach.listen === "::" ? "0.0.0.0 ::" : reach.listen;
}

function memoryLines({ connections, parameters }: ServerSpec, bytes: number): readonly string[] {
  const wanted = parameters["maxclients"];
  const clients = typeof wanted === "number" && wanted > 0 ? Math.min(wanted, connections) : connections;
  return [
    `maxclients ${clients + ownConnections}`,
    `maxmemory ${bytes}`,
    "maxmemory-clients 25%",
    `proto-max-bulk-len ${Math.max(1024 * 1024, Math.floor(bytes / 2))}`,
    `client-query-buffer-limit ${Math.max(1024 * 1024, Math.floor(bytes / 2))}`,
    `client-output-buffer-limit normal ${bytes} 0 0`,
    `client-output-buffer-limit pubsub ${Math.floor(bytes / 4)} 0 0`,
  ];
}

/** What was acknowledged is in the kernel's hands, so the end of the process loses nothing; the machine's end at most a second. */
function durabilityLines(place: Place, { parameters }: ServerSpec, bytes: number): readonly string[] {
  const rules = parameters["snapshot"];
  const snapshots = Array.isArray(rules) ? rules.map(String) : [];
  return [
    // A server that is filled from a snapshot would not look at it beside a log.
    `appendonly ${place.port === undefined ? "no" : "yes"}`,
    `dbfilename ${snapshotFile}`,
    "appendfsync everysec",
    "auto-aof-rewrite-percentage 100",
    `auto-aof-rewrite-min-size ${Math.max(1024 * 1024, Math.floor(bytes / 4))}`,
    ...(snapshots.length === 0 ? ['save ""'] : snapshots),
    "stop-writes-on-bgsave-error no",
    // A snapshot of known length, which ends without a mark.
    "repl-diskless-sync no",
    "sanitize-dump-payload yes",
  ];
}

function tlsLines({ tls }: Place, { parameters }: ServerSpec): readonly string[] {
  const optional = ["tls-ciphers", "tls-ciphersuites"].flatMap((name) =>
    parameters[name] === undefined ? [] : [`${name} ${String(parameters[name])}`],
  );
  return [
    `tls-cert-file "${tls.certificate}"`,
    `tls-key-file "${tls.key}"`,
    `tls-ca-cert-file "${tls.authority}"`,
    "tls-auth-clients no",
    `tls-protocols "${String(parameters["tls-protocols"] ?? "TLSv1.2 TLSv1.3")}"`,
    ...optional,
  ];
}

/** Accounts of a server that has no bindings yet: nobody's is closed. */
export function firstUsers(adminPassword: string): string {
  return `user default off resetpass -@all\n${adminLine(adminPassword)}\n`;
}

/** The broker's account in the users' file. */
export function adminLine(adminPassword: string): string {
  return `user ${adminUser} on #${passwordDigest(adminPassword)} ~* &* +@all`;
}

/** Path in the home. */
export function configurationPath(place: Place): string {
  return join(place.home, configurationFile);
}
