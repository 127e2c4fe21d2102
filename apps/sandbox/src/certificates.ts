/** A certificate authority for the composition function and its client, Crossplane, for mutual TLS. */
import "reflect-metadata";
import { access, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
  type X509Certificate,
} from "@peculiar/x509";

/** Folders with `tls.crt`, `tls.key` and `ca.crt`. */
export interface CertificateFolders {
  readonly functionServer: string;
  readonly crossplaneClient: string;
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const serverAuth = "1.3.6.1.5.5.7.3.1";
const clientAuth = "1.3.6.1.5.5.7.3.2";
const lifetimeMs = 5 * 365 * 24 * 3600 * 1000;

/** Makes both certificates once; later starts take them as they are. */
export async function ensureCertificates(folder: string, now: Date): Promise<CertificateFolders> {
  const folders = {
    functionServer: join(folder, "function"),
    crossplaneClient: join(folder, "crossplane-client"),
  };
  if (await exists(join(folders.crossplaneClient, "tls.crt"))) return folders;
  const notAfter = new Date(now.getTime() + lifetimeMs);
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const authority = await X509CertificateGenerator.createSelfSigned({
    name: "CN=klutch-sandbox",
    keys,
    notBefore: now,
    notAfter,
    signingAlgorithm: algorithm,
    extensions: [new BasicConstraintsExtension(true, 0, true)],
  });
  const issue = async (target: string, name: string, usage: string): Promise<void> => {
    const own = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
    const certificate = await X509CertificateGenerator.create({
      subject: `CN=${name}`,
      issuer: authority.subject,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      notBefore: now,
      notAfter,
      signingAlgorithm: algorithm,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new ExtendedKeyUsageExtension([usage]),
        new SubjectAlternativeNameExtension([
          { type: "dns", value: "localhost" },
          { type: "ip", value: "127.0.0.1" },
        ]),
      ],
    });
    await writePair(target, authority, certificate, own.privateKey);
  };
  await issue(folders.functionServer, "function-klutch", serverAuth);
  await issue(folders.crossplaneClient, "crossplane-core", clientAuth);
  return folders;
}

async function writePair(
  folder: string,
  authority: X509Certificate,
  certificate: X509Certificate,
  key: CryptoKey,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const pkcs8 = await crypto.subtle.exportKey("pkcs8", key);
  await writeFile(join(folder, "ca.crt"), authority.toString("pem"));
  await writeFile(join(folder, "tls.key"), PemConverter.encode(pkcs8, "PRIVATE KEY"), { mode: 0o600 });
  await writeFile(join(folder, "tls.crt"), certificate.toString("pem"));
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
