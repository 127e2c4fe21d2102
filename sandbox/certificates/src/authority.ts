/** An authority: who has its certificate trusts those that it issues. */
import "reflect-metadata";
import type { webcrypto } from "node:crypto";
import { PemConverter, X509Certificate } from "@peculiar/x509";
import { Secret } from "@klutch/telemetry";
import { algorithm, issueCertificate, selfSigned, type Subject, type Validity } from "./issue.ts";

/** A certificate and its key, PEM. */
export interface KeyPair {
  readonly certificate: string;
  /** PKCS #8. */
  readonly key: Secret<string>;
}

/** An authority with its own pair, of which `authorityFrom` makes it again. */
export interface Authority extends KeyPair {
  /** A certificate with a new key. */
  issue(subject: Subject, validity: Validity): Promise<KeyPair>;
}

/** Makes one. `name` is its common name. */
export async function createAuthority(name: string, validity: Validity): Promise<Authority> {
  const keys = await newKeys();
  const certificate = await selfSigned(name, keys, validity);
  return authorityOf(certificate, keys.privateKey, await pairOf(certificate, keys.privateKey));
}

/** One that was made before. Throws when key or certificate is none. */
export async function authorityFrom(pair: KeyPair): Promise<Authority> {
  const [der] = PemConverter.decode(pair.key.reveal());
  if (der === undefined) throw new Error("the key of the certificate authority is damaged");
  const key = await crypto.subtle.importKey("pkcs8", der, algorithm, false, ["sign"]);
  return authorityOf(new X509Certificate(pair.certificate), key, pair);
}

function authorityOf(certificate: X509Certificate, key: CryptoKey, pair: KeyPair): Authority {
  return {
    ...pair,
    issue: async (subject, validity) => {
      const own = await newKeys();
      const issuer = { subject: certificate.subject, key };
      return pairOf(await issueCertificate(issuer, subject, own.publicKey, validity), own.privateKey);
    },
  };
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
}

async function pairOf(certificate: X509Certificate, key: CryptoKey): Promise<KeyPair> {
  const pkcs8 = await crypto.subtle.exportKey("pkcs8", key);
  return {
    certificate: certificate.toString("pem"),
    key: new Secret(PemConverter.encode(pkcs8, "PRIVATE KEY")),
  };
}
