/** A certificate authority of a program's own, and a certificate for each data server that it runs. */
import "reflect-metadata";
import { X509Certificate } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509Certificate as Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";
import { readIfThere, writeForServer, writeOwn } from "./ownership.ts";

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const serverAuth = "1.3.6.1.5.5.7.3.1";
const dayMs = 24 * 3600 * 1000;
const lifetimeMs = 5 * 365 * dayMs;
/** A server's is made anew at a start when it has less than this. */
const leastLeftMs = 365 * dayMs;

/** Signs servers' certificates. */
export interface Authority {
  /** PEM; what clients trust. */
  readonly certificate: string;
  /** Writes `server.crt`, `server.key` and `ca.crt` for the server in `home`, which is reached on loopback. */
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

/** The authority in `folder`, made once under the common name `name`. `now` is the time of each use. */
export async function openAuthority(
  folder: string,
  { name, now }: { readonly name: string; readonly now: () => Date },
): Promise<Authority> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const paths = { certificate: join(folder, "ca.crt"), key: join(folder, "ca.key") };
  const pem = (await readIfThere(paths.certificate)) ?? (await makeAuthority(paths, name, now()));
  const key = await importKey(await readFile(paths.key, "utf8"));
  const authority = new Certificate(pem);
  return { certificate: pem, issue: (home) => issue(home, { authority, key, pem }, now()) };
}

async function makeAuthority(
  paths: { readonly certificate: string; readonly key: string },
  name: string,
  now: Date,
): Promise<string> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    notBefore: yesterday(now),
    notAfter: new Date(now.getTime() + 2 * lifetimeMs),
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    ],
  });
  await writeOwn(paths.key, await exportKey(keys.privateKey));
  const pem = certificate.toString("pem");
  // Last: with it the authority is whole.
  await writeOwn(paths.certificate, pem);
  return pem;
}

interface Signer {
  readonly authority: Certificate;
  readonly key: CryptoKey;
  readonly pem: string;
}

async function issue(home: string, signer: Signer, now: Date): Promise<void> {
  const files = tlsFilesIn(home);
  if (await isGood(files, signer.pem, now)) return;
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.create({
    subject: "CN=klutch-data-server",
    issuer: signer.authority.subject,
    publicKey: keys.publicKey,
    signingKey: signer.key,
    notBefore: yesterday(now),
    notAfter: new Date(now.getTime() + lifetimeMs),
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new ExtendedKeyUsageExtension([serverAuth]),
      new SubjectAlternativeNameExtension([
        { type: "dns", value: "localhost" },
        { type: "ip", value: "127.0.0.1" },
      ]),
    ],
  });
  await writeForServer(files.key, await exportKey(keys.privateKey));
  await writeForServer(files.authority, signer.pem);
  await writeForServer(files.certificate, certificate.toString("pem"));
}

/** Whether what is there was signed by this authority, and for long enough. */
async function isGood(files: ReturnType<typeof tlsFilesIn>, authority: string, now: Date): Promise<boolean> {
  const [pem, key] = await Promise.all([readIfThere(files.certificate), readIfThere(files.key)]);
  if (pem === undefined || key === undefined) return false;
  const certificate = new X509Certificate(pem);
  const isOurs = certificate.verify(new X509Certificate(authority).publicKey);
  return isOurs && certificate.validToDate.getTime() - now.getTime() > leastLeftMs;
}

/** Clocks differ. */
function yesterday(now: Date): Date {
  return new Date(now.getTime() - dayMs);
}

async function exportKey(key: CryptoKey): Promise<string> {
  return PemConverter.encode(await crypto.subtle.exportKey("pkcs8", key), "PRIVATE KEY");
}

async function importKey(pem: string): Promise<CryptoKey> {
  const [der] = PemConverter.decode(pem);
  if (der === undefined) throw new Error("the key of the certificate authority is damaged");
  return crypto.subtle.importKey("pkcs8", der, algorithm, false, ["sign"]);
}
