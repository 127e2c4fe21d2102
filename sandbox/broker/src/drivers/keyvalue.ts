/** The key-value store: a Redis server for each instance. */
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { chown } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type RedisClientOptions } from "@redis/client";
import { type postgres, runProgram, writeForServer } from "@klutch/data-servers";
import { type DebianPrograms, unprivileged } from "@klutch/engines";
import { dataBytes, keyvalueParameters } from "./keyvalue-parameters.ts";
import { smaller } from "./parameters.ts";
import { adminUser, type Place, type ServerKind, type ServerSpec, type Session } from "./driver.ts";
import { shortPath } from "./server-request.ts";

/** Connections of the broker beside those of the plan. */
const ownConnections = 4;
/** Files in the server's own folder. */
const socketName = "socket";
const usersFile = "users.acl";
const snapshotFile = "dump.rdb";
/** Matches logins of bindings and no others. */
const loginName = /^u[0-9a-f]{32}$/;
/** A script that runs keeps everyone out. It is ended, or its server when it has written and cannot be ended. */
const busyTries = 12;
const pollMs = 250;

/** Commands on data. `@admin` and `@dangerous` change or stop the server, or read its files; a few of them are harmless here. */
const deleting = ["+del", "+unlink", "+expire", "+flushdb", "+flushall"];
const harmless = ["+keys", "+info", "+sort", "+role", "+acl|whoami"];
const rights = ["-@all", "+@all", "-@admin", "-@dangerous", ...harmless, ...deleting];
/** While the disk is full: reading, and deleting. Scripts could write. */
const rightsWhileFull = [...rights, "-@write", "-@scripting", ...deleting];

/** Returns the kind that runs these programs. */
export function keyvalueKind(programs: DebianPrograms): ServerKind {
  return {
    type: "keyvalue",
    program: "key-value server",
    parameters: keyvalueParameters,
    async initialise({ data, adminPassword }, dump) {
      const users = `user default off resetpass -@all\nuser ${adminUser} on #${digest(adminPassword)} ~* &* +@all\n`;
      await writeForServer(join(data, usersFile), users);
      if (dump === undefined) return;
      const path = join(data, snapshotFile);
      const to = createWriteStream(path, { mode: 0o600, flags: "wx" });
      await pipeline(dump.open(), to, { signal: dump.signal });
      if (unprivileged !== undefined) await chown(path, unprivileged.uid, unprivileged.gid);
    },
    async launch(place, spec) {
      const path = join(place.home, "server.conf");
      await writeForServer(path, configuration(place, spec));
      const ready = async (): Promise<boolean> => {
        using connection = await connectAs(place);
        return (await connection.send("PING")) === "PONG";
      };
      return { command: programs.path("redis-server"), args: [path], env: programs.env, ready };
    },
    open: (place) => open(place, programs),
    credentials({ port, reach: { host } }, { username, password }, authority) {
      const valkey = { password, port, username };
      return { cacrt: authority, host, hosts: [host], load_balanced_host: host, valkey };
    },
  };
}

async function connectAs({ data, adminPassword }: Place): Promise<RedisConnection> {
  await using socket = await shortPath(data, socketName);
  // The path is needed until the connection is made.
  return await connectRedis(
    { path: socket.path, tls: false },
    { username: adminUser, password: adminPassword },
  );
}

/** Connects before the server opens its port, because the server keeps no connection free for the broker. */
async function open(place: Place, programs: DebianPrograms): Promise<Session> {
  let connection = await connectAs(place);
  let isFull = false;
  const run = async (...words: readonly string[]): Promise<unknown> => {
    if (connection.hasEnded) connection = await connectAs(place);
    return patiently(connection, words);
  };
  const setUser = (username: string, full: boolean, ...rules: readonly string[]): Promise<unknown> =>
    run("ACL", "SETUSER", username, ...rules, ...(full ? rightsWhileFull : rights));
  const align = async (full = isFull): Promise<void> => {
    const users = await run("ACL", "USERS");
    const names = Array.isArray(users) ? users.map(String) : [];
    for (const username of names) if (loginName.test(username)) await setUser(username, full);
    await run("ACL", "SAVE");
  };
  await align();
  if (place.port !== undefined) await run("CONFIG", "SET", "tls-port", String(place.port));
  return {
    run,
    async ensureLogin({ username, password }) {
      await setUser(username, isFull, "reset", "on", `#${digest(password)}`, "~*", "&*");
      await run("ACL", "SAVE");
    },
    async dropLogin(username) {
      // Its connections end with it.
      await run("ACL", "DELUSER", username);
      await run("ACL", "SAVE");
    },
    async setFull(full) {
      if (full !== isFull) {
        await align(full);
        // Only now: if the server refuses, the next measurement tells it again.
        isFull = full;
      }
      // The server itself rewrites its log only when the log has doubled. It refuses while a rewrite is running.
      if (isFull) await run("BGREWRITEAOF").catch(() => undefined);
    },
    async dump(to, signal) {
      const program = programs.path("redis-cli");
      const args = ["-s", socketName, "--user", adminUser, "--rdb", "-"];
      const env = { ...programs.env, PATH: "/usr/bin:/bin", REDISCLI_AUTH: place.adminPassword };
      await runProgram({ program, args, env, cwd: place.data, signal }, { to });
    },
    async fill({ signal }) {
      // The server read the snapshot at its start. From here on it keeps its log, which begins with all data.
      await run("CONFIG", "SET", "appendonly", "yes");
      while (!(await hasWholeLog(run))) await sleep(pollMs / 5, undefined, { signal });
    },
    [Symbol.asyncDispose]() {
      connection[Symbol.dispose]();
      return Promise.resolve();
    },
  };
}

async function hasWholeLog(run: Session["run"]): Promise<boolean> {
  const text = String(await run("INFO", "persistence"));
  const has = (field: string): boolean => text.split("\r\n").includes(field);
  if (!has("aof_last_bgrewrite_status:ok")) throw new Error("the server could not write its log");
  return has("aof_rewrite_in_progress:0") && has("aof_rewrite_scheduled:0") && has("aof_enabled:1");
}

/** Sends a command, and ends scripts that keep the server busy. */
async function patiently(connection: RedisConnection, words: readonly string[]): Promise<unknown> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await connection.send(...words);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith("BUSY"))) throw error;
      for (const what of ["SCRIPT", "FUNCTION"]) await connection.send(what, "KILL").catch(() => undefined);
      // The server starts again with everything that it acknowledged.
      if (attempt === busyTries) await connection.send("SHUTDOWN", "NOSAVE");
      await sleep(pollMs);
    }
  }
}

/** Returns what the server keeps of a password. */
function digest(password: string): string {
  return createHash("sha256").update(password).digest("hex");
}

/** Returns the configuration file. The server does not listen on its port before the broker opens it. */
function configuration({ port, reach, tls }: Place, spec: ServerSpec): string {
  const { parameters, memoryMiB, connectionLimit } = spec;
  const bytes = dataBytes(memoryMiB, parameters);
  const { maxclients: wanted, snapshot } = parameters;
  const clients = smaller(connectionLimit, wanted, 1);
  const given = (name: string, otherwise: string): string =>
    `${name} ${String(parameters[name] ?? otherwise)}`;
  const optional = ["tls-ciphers", "tls-ciphersuites"].filter((name) => parameters[name] !== undefined);
  const lines = [
    "port 0",
    "tls-port 0",
    // This server takes `::` for IPv6 alone.
    `bind ${reach.listen === "::" ? "0.0.0.0 ::" : reach.listen}`,
    `unixsocket ${socketName}`,
    "unixsocketperm 700",
    // The command line goes on naming the instance's folder.
    "set-proc-title no",
    'dir "."',
    `aclfile ${usersFile}`,
    `maxclients ${clients + ownConnections}`,
    `maxmemory ${bytes}`,
    "maxmemory-clients 25%",
    `client-output-buffer-limit normal ${bytes} 0 0`,
    given("maxmemory-policy", "noeviction"),
    given("maxmemory-samples", "5"),
    given("lazyfree-lazy-eviction", "no"),
    given("lazyfree-lazy-expire", "no"),
    given("lua-time-limit", "5000"),
    `notify-keyspace-events "${String(parameters["notify-keyspace-events"] ?? "")}"`,
    // A server that is filled from a snapshot would not read it beside a log.
    `appendonly ${port === undefined ? "no" : "yes"}`,
    `dbfilename ${snapshotFile}`,
    // The kernel has what was acknowledged; the end of the machine loses at most a second.
    "appendfsync everysec",
    `auto-aof-rewrite-min-size ${Math.max(1024 * 1024, Math.floor(bytes / 4))}`,
    ...(Array.isArray(snapshot) && snapshot.length > 0 ? snapshot.map(String) : ['save ""']),
    "stop-writes-on-bgsave-error no",
    // A snapshot of known length, so that one that was cut off shows.
    "repl-diskless-sync no",
    `tls-cert-file "${tls.certificate}"`,
    `tls-key-file "${tls.key}"`,
    `tls-ca-cert-file "${tls.authority}"`,
    "tls-auth-clients no",
    `tls-protocols "${String(parameters["tls-protocols"] ?? "TLSv1.2 TLSv1.3")}"`,
    ...optional.map((name) => `${name} ${String(parameters[name])}`),
  ];
  return `${lines.join("\n")}\n`;
}

/** A connection. One that has ended is not made again: a command that was sent may have taken place. */
interface RedisConnection extends Disposable {
  readonly hasEnded: boolean;
  /** Sends one command and waits for its reply. Throws an error with the server's words. */
  send(...words: readonly string[]): Promise<unknown>;
}

/** Connects and logs in. Without a login nothing is sent yet. */
export async function connectRedis(
  socket: RedisClientOptions["socket"],
  login: Partial<postgres.Login> = {},
): Promise<RedisConnection> {
  const client = createClient({
    ...login,
    socket: { ...socket, reconnectStrategy: false },
    RESP: 2,
    disableClientInfo: true,
    maintNotifications: "disabled",
  });
  // Commands that wait for a reply fail with the reason.
  client.on("error", () => undefined);
  await client.connect();
  return {
    get hasEnded() {
      return !client.isReady;
    },
    send: (...words) => client.sendCommand(words),
    [Symbol.dispose]: () => client.destroy(),
  };
}
