/** A certificate authority of a program's own, and a certificate for each data server that it runs. */
import { X509Certificate } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import { type Authority as Issuer, authorityFrom, createAuthority } from "@klutch/certificates";
import { dataHome } from "@klutch/engines";
import { Secret } from "@klutch/telemetry";
import { readIfThere, writeForServer, writeOwn } from "./ownership.ts";

const yearMs = 365 * 24 * 3600 * 1000;
/** How long certificates are good, in days. */
const lifetime = { authority: 10 * 365, server: 5 * 365 } as const;
/** For each server, besides the host by which it is reached. */
const ownHosts: readonly string[] = ["localhost", "127.0.0.1"];
/** A server's is made anew at a start when it has less than this. */
const leastLeftMs = yearMs;

/** Signs servers' certificates. */
export interface Authority {
  /** PEM; what clients trust. */
  readonly certificate: string;
  /** Writes `server.crt`, `server.key` and `ca.crt` for the server in `home`, unless what is there is right. */
  issue(home: string): Promise<void>;
}

/** Paths of what `issue` writes. */
export function tlsFilesIn(home: string): {
  readonly authority: string;
  readonly certificate: string;
  readonly key: string;
} {
  return {
    authority: join(home, "ca.crt"),
    certificate: join(home, "server.crt"),
    key: join(home, "server.key"),
  };
}

/** Issues a certificate for a PostgreSQL server in `home`, and returns the settings that name it. */
export async function postgresTls(
  authority: Authority,
  home: string,
): Promise<Readonly<Record<string, string>>> {
  const root = await dataHome(home);
  await authority.issue(root);
  const { certificate, key } = tlsFilesIn(root);
  return { ssl: "on", ssl_cert_file: certificate, ssl_key_file: key };
}

/** Options of `openAuthority`. */
export interface AuthorityOptions {
  /** Its common name. */
  readonly name: string;
  /** The time of each use. */
  readonly now: () => Date;
  /** Name or address by which servers are reached besides loopback. Default: none. */
  readonly host?: string | undefined;
}

/** The authority in `folder`, made once. */
export async function openAuthority(
  folder: string,
  { name, now, host }: AuthorityOptions,
): Promise<Authority> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const paths = { certificate: join(folder, "ca.crt"), key: join(folder, "ca.key") };
  const certificate = await readIfThere(paths.certificate);
  const issuer =
    certificate === undefined
      ? await makeAuthority(paths, name, now())
      : await authorityFrom({ certificate, key: new Secret(await readFile(paths.key, "utf8")) });
  return { certificate: issuer.certificate, issue: (home) => issue(home, issuer, host, now()) };
}

async function makeAuthority(
  paths: { readonly certificate: string; readonly key: string },
  name: string,
  now: Date,
): Promise<Issuer> {
  const authority = await createAuthority(name, { now, days: lifetime.authority });
  await writeOwn(paths.key, authority.key.reveal());
  // Last: with it the authority is whole.
  await writeOwn(paths.certificate, authority.certificate);
  return authority;
}

async function issue(home: string, issuer: Issuer, host: string | undefined, now: Date): Promise<void> {
  const files = tlsFilesIn(home);
  const hosts = [...new Set([...ownHosts, ...(host === undefined ? [] : [host])])];
  if (await isGood(files, issuer.certificate, hosts, now)) return;
  const { certificate, key } = await issuer.issue(
    { use: "server", name: "klutch-data-server", hosts },
    { now, days: lifetime.server },
  );
  await writeForServer(files.key, key.reveal());
  await writeForServer(files.authority, issuer.certificate);
  await writeForServer(files.certificate, certificate);
}

/** Whether what is there was signed by this authority, for these hosts, and for long enough. */
async function isGood(
  files: ReturnType<typeof tlsFilesIn>,
  authority: string,
  hosts: readonly string[],
  now: Date,
): Promise<boolean> {
  const [pem, key] = await Promise.all([readIfThere(files.certificate), readIfThere(files.key)]);
  if (pem === undefined || key === undefined) return false;
  const certificate = new X509Certificate(pem);
  const isOurs = certificate.verify(new X509Certificate(authority).publicKey);
  const isForHosts = hosts.every((host) =>
    isIP(host) === 0 ? certificate.checkHost(host, { subject: "never" }) : certificate.checkIP(host),
  );
  return isOurs && isForHosts && certificate.validToDate.getTime() - now.getTime() > leastLeftMs;
}
