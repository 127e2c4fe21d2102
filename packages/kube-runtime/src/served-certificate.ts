/** The certificate that a server shows, read from files and checked as a whole. */
import { createHash, createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import { Secret } from "@klutch/telemetry";

/** Paths of PEM files. */
export interface CertificateFiles {
  /** The server's own certificate first, then those between it and its authority. */
  readonly cert: string;
  readonly key: string;
  /** File with the authorities of clients' certificates. Default: none. */
  readonly ca?: string | undefined;
}

/** A certificate with its key, which belong together. */
export interface ServedCertificate {
  readonly files: CertificateFiles;
  readonly cert: string;
  readonly key: Secret<string>;
  /** Empty when `files` names none. */
  readonly ca: string;
  /** In milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Digest of all files: the same bytes have the same digest. */
  readonly digest: string;
}

/** The files cannot be served. The message names the file, and never its content. */
export class CertificateError extends Error {
  readonly code = "Certificate";
  /** The file that cannot be served. */
  readonly file: keyof CertificateFiles;

  constructor(file: keyof CertificateFiles, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "CertificateError";
    this.file = file;
  }
}

/** Reads all files. Throws `CertificateError` when one is missing or cut off, or when certificate and key do not belong together. */
export async function readServedCertificate(files: CertificateFiles): Promise<ServedCertificate> {
  const [cert, key, ca] = await Promise.all([
    textOf(files, "cert"),
    textOf(files, "key"),
    files.ca === undefined ? "" : textOf(files, "ca"),
  ]);
  const [leaf] = inFile(files, "cert", cert);
  if (files.ca !== undefined) inFile(files, "ca", ca);
  if (!leaf.checkPrivateKey(privateKeyOf(files, key)))
    throw new CertificateError("key", `${files.key} is not the key of the certificate in ${files.cert}`);
  requireServable(files, cert, key);
  const digest = createHash("sha256").update([cert, key, ca].join("\0")).digest("base64url");
  return { files, cert, key: new Secret(key), ca, expiresAt: leaf.validToDate.getTime(), digest };
}

const pemBlock = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** All certificates of a PEM text, in their order. Throws when one is cut off or is none. */
export function certificatesIn(pem: string): readonly X509Certificate[] {
  const blocks = pem.match(pemBlock) ?? [];
  if (blocks.length !== pem.split("-----BEGIN CERT").length - 1) throw new Error("a certificate is cut off");
  return blocks.map((block) => new X509Certificate(block));
}

async function textOf(files: CertificateFiles, file: keyof CertificateFiles): Promise<string> {
  try {
    return await readFile(files[file] ?? "", "utf8");
  } catch (cause) {
    throw new CertificateError(file, `${files[file]} cannot be read; it must be a file`, { cause });
  }
}

function inFile(
  files: CertificateFiles,
  file: "cert" | "ca",
  pem: string,
): readonly [X509Certificate, ...X509Certificate[]] {
  let cause: unknown;
  try {
    const [first, ...others] = certificatesIn(pem);
    if (first !== undefined) return [first, ...others];
  } catch (error) {
    cause = error;
  }
  const message = `${files[file]} must have certificates in PEM form, none of them cut off`;
  throw new CertificateError(file, message, { cause });
}

function privateKeyOf({ key: path }: CertificateFiles, pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    // OpenSSL's words may quote what it read.
    throw new CertificateError("key", `${path} must have a private key in PEM form without a password`);
  }
}

/** Throws for a certificate that fits and is refused all the same, such as one with a short key. */
function requireServable({ cert: path }: CertificateFiles, cert: string, key: string): void {
  try {
    createSecureContext({ cert, key });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CertificateError("cert", `${path} cannot be served: ${reason}`, { cause });
  }
}
