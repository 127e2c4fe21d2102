/**
 * MongoDB's protocol by FerretDB, a server for each instance. It knows logins but no rights: each binding reads and writes everything in the
 * instance, and can remove the others' logins.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { hostInUrl, makeServerFolder, readIfThere, writeOwn } from "@klutch/data-servers";
import { serverProgram } from "./built-program.ts";
import type { Place, ServerKind, ServerSpec, Session } from "./driver.ts";
import { MongoRefusal, withMongo } from "./mongodb-request.ts";

/** The broker's own account, and the database that has it. */
const adminUser = "klutch";
const adminDatabase = "admin";
/** Names in the server's own folder. */
const socketName = "socket";
const documentsFolder = "documents";
/** Bytes in a page of SQLite. */
const pageSize = 4096;
/** Name in the instance's folder; says whether clients use TLS. */
const tlsFile = "tls";
/** Answers of the server. */
const userMissing = 11;
const userExists = 51_003;

/** Returns the kind whose program `obtain` finds, or builds when the first instance needs it. */
export function mongodbKind(obtain: () => Promise<string>): ServerKind {
  return {
    type: "mongodb",
    program: "FerretDB",
    parameters: {},
    obstacle: "this broker makes no backups of MongoDB instances; use mongodump",
    unbindRestarts: true,
    async initialise({ data, home }) {
      await serverProgram(await obtain(), home);
      await makeServerFolder(join(data, documentsFolder));
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
        ready: () => withAdmin(place, (command) => command(adminDatabase, { ping: 1 })).then(() => true),
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

const withAdmin = <T>({ data, adminPassword }: Place, work: Parameters<typeof withMongo<T>>[2]): Promise<T> =>
  withMongo({ folder: data, socket: socketName }, { username: adminUser, password: adminPassword }, work);

function sessionOf(place: Place): Session {
  const { database } = place;
  return {
    run: () => Promise.reject(new Error("a MongoDB instance has no commands of the broker")),
    async ensureLogin({ username, password }) {
      await withAdmin(place, async (command) => {
        await command(database, { createUser: username, pwd: password, roles: [] }).catch(
          expecting(userExists),
        );
        await command(database, { updateUser: username, pwd: password });
      });
    },
    async dropLogin(username) {
      await withAdmin(place, (command) =>
        command(database, { dropUser: username }).catch(expecting(userMissing)),
      );
    },
    setFull: () => Promise.resolve(),
    dump: refuseBackups,
    fill: refuseBackups,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function refuseBackups(): Promise<never> {
  return Promise.reject(new Error("MongoDB instances have no backups"));
}

/** Returns a handler that passes over one answer of the server. */
function expecting(code: number): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof MongoRefusal) || error.code !== code) throw error;
  };
}
