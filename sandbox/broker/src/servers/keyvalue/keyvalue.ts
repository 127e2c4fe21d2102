/** The key-value store: a Redis server for each instance. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { writeForServer } from "@klutch/data-servers";
import type { DebianPrograms } from "@klutch/engines";
import {
  type Launch,
  type Login,
  type Place,
  type ServerKind,
  type ServerSpec,
  type Session,
  StuckError,
} from "../kind.ts";
import { connectTo } from "../socket.ts";
import { loginRules, loginsIn, passwordDigest, rightsOf } from "./accounts.ts";
import { type Reply, ReplyError, RespConnection } from "./resp.ts";
import {
  adminUser,
  configuration,
  configurationPath,
  firstUsers,
  socketName,
  usersFile,
} from "./settings.ts";

/** A way into one server as the broker's account. */
export interface KeyvalueSession extends Session {
  run(...words: readonly string[]): Promise<Reply>;
}

/** What was written waits in memory for up to two seconds while the disk is slow, and the server ends when there is none for it. */
const waitingMiB = 1024;
/** A script that runs keeps everybody out. It is ended, or, when it has written and so cannot be ended, waited for. */
const busyTries = 12;
const busyWaitMs = 250;

/** The kind, with programs that were found or fetched. */
export function keyvalueKind(programs: DebianPrograms): ServerKind<KeyvalueSession> {
  return {
    name: "keyvalue",
    program: "key-value server",
    initialise: (place) => writeForServer(join(place.data, usersFile), firstUsers(place.adminPassword)),
    launch: (place, spec) => launch(place, spec, programs),
    open,
    credentials,
  };
}

async function launch(place: Place, spec: ServerSpec, programs: DebianPrograms): Promise<Launch> {
  await writeForServer(configurationPath(place), configuration(place, spec));
  return {
    command: programs.path("redis-server"),
    args: [configurationPath(place)],
    env: programs.env,
    // Data, what clients send and wait for, and what a snapshot copies while it is written.
    memoryMiB: 2 * spec.memoryMiB + waitingMiB,
    ready: async () => {
      using connection = await connectAs(place);
      return (await connection.send("PING")) === "PONG";
    },
  };
}

async function connectAs(place: Place): Promise<RespConnection> {
  const connection = new RespConnection(await connectTo(place, socketName));
  try {
    await connection.send("AUTH", adminUser, place.adminPassword);
    return connection;
  } catch (error) {
    connection[Symbol.dispose]();
    throw error;
  }
}

/** The broker is inside before the door opens: the server keeps no connection free for it. */
async function open(place: Place, _spec: ServerSpec): Promise<KeyvalueSession> {
  let connection = await connectAs(place);
  let isFull = false;
  const run = async (...words: readonly string[]): Promise<Reply> => {
    if (connection.hasEnded) connection = await connectAs(place);
    return patiently(connection, words);
  };
  const logins = async (): Promise<readonly string[]> => {
    const users = await run("ACL", "USERS");
    return loginsIn(Array.isArray(users) ? users.map(String) : []);
  };
  const align = async (): Promise<void> => {
    for (const username of await logins()) await run("ACL", "SETUSER", username, ...rightsOf(isFull));
    await run("ACL", "SAVE");
  };
  await align();
  if (place.port !== undefined) await run("CONFIG", "SET", "tls-port", String(place.port));
  return {
    run,
    async ensureLogin({ username, password }) {
      await run("ACL", "SETUSER", username, ...loginRules([passwordDigest(password)], isFull));
      await run("ACL", "SAVE");
    },
    async dropLogin(username) {
      // Its connections end with it.
      await run("ACL", "DELUSER", username);
      await run("ACL", "SAVE");
    },
    async setFull(full) {
      isFull = full;
      await align();
    },
    async makeRoom() {
      // By itself it writes its log anew only once that has doubled, and never after a write to the log that failed.
      const persistence = String(await run("INFO", "persistence"));
      if (isFull || persistence.includes("aof_last_write_status:err")) await run("BGREWRITEAOF");
    },
    [Symbol.asyncDispose]() {
      connection[Symbol.dispose]();
      return Promise.resolve();
    },
  };
}

async function patiently(connection: RespConnection, words: readonly string[]): Promise<Reply> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await connection.send(...words);
    } catch (error) {
      const isBusy = error instanceof ReplyError && error.message.startsWith("BUSY");
      if (!isBusy) throw error;
      for (const what of ["SCRIPT", "FUNCTION"]) await connection.send(what, "KILL").catch(() => undefined);
      if (attempt === busyTries)
        throw new StuckError("a script that has written does not end", { cause: error });
      await sleep(busyWaitMs);
    }
  }
}

function credentials(
  place: Place,
  { username, password }: Login,
  authority: string,
): Record<string, unknown> {
  const { host } = place.reach;
  const valkey = { password, port: place.port, username };
  return { cacrt: authority, host, hosts: [host], load_balanced_host: host, valkey };
}
