/**
 * Certificates as Crossplane's `init` makes them: authority, server and client have one distinguished name and one serial number,
 * and the leaves carry no authority key identifier. RSA with 2048 bits, SHA-256.
 */
import "reflect-metadata";
import { systemClock } from "@klutch/kube";
import {
  BasicConstraintsExtension,
  type Extension,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";

/** PEM of a certificate and its key. */
export interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** An authority that can issue. */
export interface Authority extends Pair {
  readonly signingKey: CryptoKey;
}

const name = "C=Earth, O=Crossplane, L=Earth, ST=Earth, CN=Crossplane";
const serialNumber = "07e6";
const algorithm = {
  name: "RSASSA-PKCS1-v1_5",
  hash: "SHA-256",
  publicExponent: new Uint8Array([1, 0, 1]),
  modulusLength: 2048,
} as const;
export const serverAuth = "1.3.6.1.5.5.7.3.1";
export const clientAuth = "1.3.6.1.5.5.7.3.2";
const day = 24 * 3600 * 1000;

/** A root as Crossplane's `crossplane-root-ca`. */
export async function createAuthority(): Promise<Authority> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber,
    name,
    keys,
    ...validFor(3650),
    signingAlgorithm: algorithm,
    extensions: [
      new KeyUsagesExtension(KeyUsageFlags.cRLSign | KeyUsageFlags.keyCertSign, true),
      new BasicConstraintsExtension(true, undefined, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
      new SubjectAlternativeNameExtension([{ type: "dns", value: "crossplane-root-ca" }]),
    ],
  });
  return {
    signingKey: keys.privateKey,
    cert: certificate.toString("pem"),
    key: await keyPem(keys.privateKey),
  };
}

/** A leaf as Crossplane's `crossplane-tls-client` (or, by its usage, a function's server certificate). */
export async function issue(
  authority: Authority,
  usage: string | undefined,
  days: { readonly from?: number; readonly until?: number } = {},
): Promise<Pair> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.create({
    serialNumber,
    subject: name,
    issuer: name,
    publicKey: keys.publicKey,
    signingKey: authority.signingKey,
    ...validFor(days.until ?? 3650, days.from),
    signingAlgorithm: algorithm,
    extensions: leafExtensions(usage),
  });
  return { cert: certificate.toString("pem"), key: await keyPem(keys.privateKey) };
}

/** A leaf with the same name that no one issued. */
export async function createSelfSigned(): Promise<Pair> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber,
    name,
    keys,
    ...validFor(3650),
    signingAlgorithm: algorithm,
    extensions: leafExtensions(clientAuth),
  });
  return { cert: certificate.toString("pem"), key: await keyPem(keys.privateKey) };
}

function leafExtensions(usage: string | undefined): Extension[] {
  const { digitalSignature, keyEncipherment, dataEncipherment } = KeyUsageFlags;
  return [
    new KeyUsagesExtension(digitalSignature | keyEncipherment | dataEncipherment, true),
    ...(usage === undefined ? [] : [new ExtendedKeyUsageExtension([usage])]),
    new BasicConstraintsExtension(false, undefined, true),
    new SubjectAlternativeNameExtension([{ type: "dns", value: "localhost" }]),
  ];
}

function validFor(until: number, from = -1): { readonly notBefore: Date; readonly notAfter: Date } {
  const now = systemClock.now();
  return { notBefore: new Date(now + from * day), notAfter: new Date(now + until * day) };
}

async function keyPem(key: CryptoKey): Promise<string> {
  return PemConverter.encode(await crypto.subtle.exportKey("pkcs8", key), "PRIVATE KEY");
}
