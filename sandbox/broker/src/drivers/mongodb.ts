/**
 * MongoDB's protocol by FerretDB, a server for each instance. It knows logins but no rights: each binding reads and writes everything in the
 * instance, and can remove the others' logins.
 */
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { MongoClient } from "mongodb";
import { hostInUrl, makeServerFolder, readIfThere, writeOwn } from "@klutch/data-servers";
import { pack, unpack } from "./archive.ts";
import { serverProgram } from "./built-program.ts";
import { adminUser, type Place, type ServerKind, type ServerSpec, type Session } from "./driver.ts";
import { shortPath } from "./server-request.ts";

/** The database that has the broker's own account. */
const adminDatabase = "admin";
/** Names in the server's own folder. */
const socketName = "server.sock";
const documentsFolder = "documents";
/** Bytes in a page of SQLite. */
const pageSize = 4096;
/** Name in the instance's folder; says whether clients use TLS. */
const tlsFile = "tls";
/** Answers of the server. */
const userMissing = 11;
const userExists = 51_003;
const answerMs = 20_000;
/** Ends the names of SQLite's files. */
const databaseSuffix = ".sqlite";
/** Copies a database in one step, because a step after a change begins again. */
const allPages = 2 ** 31 - 1;

/** Returns the kind whose program `obtain` finds, or builds when the first instance needs it. */
export function mongodbKind(obtain: () => Promise<string>): ServerKind {
  return {
    type: "mongodb",
    program: "FerretDB",
    parameters: {},
    unbindRestarts: true,
    async initialise({ data, home }, dump) {
      await serverProgram(await obtain(), home);
      const documents = join(data, documentsFolder);
      await makeServerFolder(documents);
      if (dump !== undefined) await unpack(documents, dump);
    },
    async launch(place, spec) {
      // One that a killed server left would keep the next one from listening.
      await rm(join(place.data, socketName), { force: true });
      await writeOwn(join(place.home, tlsFile), String(spec.tlsOnly));
      return {
        command: await serverProgram(await obtain(), place.home),
        args: flagsOf(place, spec),
        // Every user of the machine can read command lines.
        env: { FERRETDB_PASSWORD: place.adminPassword, GOMEMLIMIT: `${spec.memoryMiB}MiB` },
        ready: () =>
          withAdmin(place, (client) => client.db(adminDatabase).command({ ping: 1 })).then(() => true),
      };
    },
    open: (place) => Promise.resolve(sessionOf(place)),
    async credentials({ database, home, port, reach }, { username, password }, authority) {
      const host = `${hostInUrl(reach.host)}:${port}`;
      const isTls = (await readIfThere(join(home, tlsFile))) === "true";
      const uri = `mongodb://${username}:${password}@${host}/${database}${isTls ? "?tls=true" : ""}`;
      const all = { default_database: database, hosts: [host], password, uri, username };
      return isTls ? { ...all, cacrt: authority } : all;
    },
  };
}

function flagsOf({ port, reach, tls }: Place, { tlsOnly, diskMiB }: ServerSpec): readonly string[] {
  const pages = Math.floor((diskMiB * 1024 * 1024) / pageSize);
  const address = port === undefined ? [] : [tlsOnly ? "-tls" : "-tcp", `${hostInUrl(reach.listen)}:${port}`];
  const tlsFiles = tlsOnly ? ["-cert", tls.certificate, "-key", tls.key] : [];
  // The limit is that of each database.
  const folder = `file:${documentsFolder}/?_pragma=max_page_count(${pages})`;
  return ["-socket", socketName, ...address, ...tlsFiles, "-sqlite", folder, "-user", adminUser];
}

/** Runs work with a session of the broker's account, on the server's socket. */
async function withAdmin<T>(
  { data, adminPassword }: Place,
  work: (client: MongoClient) => Promise<T>,
): Promise<T> {
  // Loaded with the first instance: most brokers have none.
  const { MongoClient } = await import("mongodb");
  await using socket = await shortPath(data, socketName);
  const client = new MongoClient(
    `mongodb://${encodeURIComponent(socket.path)}/?authMechanism=SCRAM-SHA-256`,
    {
      auth: { username: adminUser, password: adminPassword },
      directConnection: true,
      serverSelectionTimeoutMS: answerMs,
      socketTimeoutMS: answerMs,
    },
  );
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

function sessionOf(place: Place): Session {
  const { database } = place;
  return {
    run: () => Promise.reject(new Error("a MongoDB instance has no commands of the broker")),
    async ensureLogin({ username, password }) {
      await withAdmin(place, async (client) => {
        const users = client.db(database);
        await users.command({ createUser: username, pwd: password, roles: [] }).catch(expecting(userExists));
        await users.command({ updateUser: username, pwd: password });
      });
    },
    async dropLogin(username) {
      await withAdmin(place, (client) =>
        client.db(database).command({ dropUser: username }).catch(expecting(userMissing)),
      );
    },
    setFull: () => Promise.resolve(),
    dump: (to, signal) => pack(place.home, (folder) => copyDatabases(place, folder), to, signal),
    // The server started on the documents of the dump, and on its logins, some of which may have been removed since.
    fill: () => withAdmin(place, dropLogins),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** Copies each database as of one moment while the server goes on. */
async function copyDatabases({ data }: Place, folder: string): Promise<void> {
  // Loaded with the first backup: most brokers make none of these.
  const { backup, DatabaseSync } = await import("node:sqlite");
  const documents = join(data, documentsFolder);
  for (const name of await readdir(documents)) {
    if (!name.endsWith(databaseSuffix)) continue;
    using database = new DatabaseSync(join(documents, name), { readOnly: true });
    await backup(database, join(folder, name), { rate: allPages });
  }
}

/** Removes all logins but the broker's own, in whichever database they are. */
async function dropLogins(client: MongoClient): Promise<void> {
  const logins = client.db(adminDatabase).collection<{ readonly _id: string }>("system.users");
  await logins.deleteMany({ _id: { $ne: `${adminDatabase}.${adminUser}` } });
}

/** Returns a handler that passes over one answer of the server. */
function expecting(code: number): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof Error && "code" in error && error.code === code)) throw error;
  };
}
