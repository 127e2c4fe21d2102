/** A running server, as far as its database and logins are concerned. */
import { createHmac } from "node:crypto";
import { type DumpPrograms, hostInUrl, type PostgresDatabase } from "@klutch/data-servers";
import { databases, roles } from "./names.ts";

/** A server that runs. */
export interface Server {
  /** URL of the superuser, by loopback. */
  readonly url: URL;
  /** Name or address by which applications reach it, at the same port. */
  readonly host: string;
  /** PEM; clients trust it. */
  readonly authority: string;
  /** Passwords are derived from it. */
  readonly key: string;
  readonly programs: DumpPrograms | undefined;
}

/** Returns the instance's database. The server's settings limit its sessions. */
export function databaseOf({ url, programs }: Server): PostgresDatabase {
  const { owner, keeper } = roles;
  return { url, name: databases.own, owner, keeper, connections: -1, programs };
}

/** Derives the password of a login: always the same, and stored nowhere. */
export function passwordOf({ key }: Server, login: string): string {
  return createHmac("sha256", key).update(login).digest("base64url");
}

/** Returns the credentials of a login, by the keys of a9s services. */
export function credentialsOf(server: Server, username: string): Readonly<Record<string, string>> {
  const { host, authority: cacrt } = server;
  const password = passwordOf(server, username);
  const { port } = server.url;
  const name = databases.own;
  const uri = `postgres://${username}:${password}@${hostInUrl(host)}:${port}/${name}`;
  return { cacrt, host, hosts: `[${host}]`, name, password, port, uri, username };
}
