/**
 * Files of servers, which root starts as another user: that user gets what it needs and nothing else. Among them are certificates, from an authority of
 * the program's own.
 */
import { chown, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Authority as Issuer, authorityFrom, createAuthority } from "@klutch/certificates";
import { dataHome, unprivileged } from "@klutch/engines";
import { Secret } from "@klutch/telemetry";
import type { Settings } from "./postgres-database.ts";

/** Days for which certificates are valid. */
const lifetime = { authority: 10 * 365, server: 5 * 365 } as const;
/** Hosts of every server, besides the one by which it is reached. */
const ownHosts: readonly string[] = ["localhost", "127.0.0.1"];

/** Signs the certificates of servers. */
export interface Authority {
  /** PEM; clients trust it. */
  readonly certificate: string;
  /** Writes a new `server.crt` and `server.key`, and `ca.crt`, for the server in `home`. Call it before each start of the server. */
  issue(home: string): Promise<void>;
}

/** Paths of the files that `issue` writes. */
export type TlsFiles = Readonly<Record<"authority" | "certificate" | "key", string>>;

/** Returns the paths for the server in `home`. */
export function tlsFilesIn(home: string): TlsFiles {
  const [authority, certificate, key] = ["ca.crt", "server.crt", "server.key"] as const;
  return { authority: join(home, authority), certificate: join(home, certificate), key: join(home, key) };
}

/** Issues a certificate for a PostgreSQL server in `home`, and returns the settings that name it. */
export async function postgresTls(authority: Authority, home: string): Promise<Settings> {
  const root = await dataHome(home);
  await authority.issue(root);
  const { certificate, key } = tlsFilesIn(root);
  return { ssl: "on", ssl_cert_file: certificate, ssl_key_file: key };
}

/** Options of `openAuthority`. */
export interface Naming {
  /** Its common name. */
  readonly name: string;
  /** Returns the present time. */
  readonly now: () => Date;
  /** Name or address by which servers are reached besides loopback. Default: none. */
  readonly host?: string | undefined;
}

/** Opens the authority in `folder`, which is made once. */
export async function openAuthority(folder: string, { name, now, host }: Naming): Promise<Authority> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const issuer = await openIssuer(folder, name, now());
  const hosts = [...new Set([...ownHosts, ...(host === undefined ? [] : [host])])];
  return {
    certificate: issuer.certificate,
    async issue(home) {
      const files = tlsFilesIn(home);
      const server = { use: "server", name: "klutch-data-server", hosts } as const;
      const { certificate, key } = await issuer.issue(server, { now: now(), days: lifetime.server });
      await writeForServer(files.key, key.reveal());
      await writeForServer(files.authority, issuer.certificate);
      await writeForServer(files.certificate, certificate);
    },
  };
}

async function openIssuer(folder: string, name: string, now: Date): Promise<Issuer> {
  const [certificatePath, keyPath] = [join(folder, "ca.crt"), join(folder, "ca.key")];
  const certificate = await readIfThere(certificatePath);
  if (certificate !== undefined)
    return authorityFrom({ certificate, key: new Secret(await readFile(keyPath, "utf8")) });
  const authority = await createAuthority(name, { now, days: lifetime.authority });
  await writeOwn(keyPath, authority.key.reveal());
  // Last: with it the authority is complete.
  await writeOwn(certificatePath, authority.certificate);
  return authority;
}

/** Returns undefined when the file does not exist. */
export async function readIfThere(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  });
}

/** Makes a folder of the server's user, closed to others. */
export async function makeServerFolder(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 });
  if (unprivileged !== undefined) await chown(path, unprivileged.uid, unprivileged.gid);
}

/** Writes a file that only the server's user may read; it is whole or does not exist. */
export async function writeForServer(path: string, content: string): Promise<void> {
  await writeOwn(path, content, unprivileged);
}

/** Writes a file that only its owner may read; it is whole or does not exist. The owner defaults to this process's user. */
export async function writeOwn(path: string, content: string, owner?: typeof unprivileged): Promise<void> {
  const partial = `${path}.partial`;
  await rm(partial, { force: true });
  await writeFile(partial, content, { mode: 0o600, flag: "wx", flush: true });
  if (owner !== undefined) await chown(partial, owner.uid, owner.gid);
  await rename(partial, path);
}
