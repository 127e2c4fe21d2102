/** What stands in a certificate (RFC 5280). */
import "reflect-metadata";
import type { webcrypto } from "node:crypto";
import { isIP } from "node:net";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";

/** For whom. */
export interface Subject {
  /** For what its key is good, and nothing else. */
  readonly use: "server" | "client";
  /** Common name; Kubernetes takes a client's for the user. */
  readonly name: string;
  /** Kubernetes takes a client's for a group. Default: none. */
  readonly organization?: string | undefined;
  /** Names and addresses by which it is reached. Default: none. */
  readonly hosts?: readonly string[] | undefined;
}

/** For how long. */
export interface Validity {
  /** It begins a day before, because clocks differ. */
  readonly now: Date;
  /** How long from `now`. */
  readonly days: number;
}

/** Of all keys: ECDSA with P-256. */
export const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

const uses = { server: "1.3.6.1.5.5.7.3.1", client: "1.3.6.1.5.5.7.3.2" } as const;
const dayMs = 24 * 3600 * 1000;

/** The certificate of an authority, which may issue those of servers and clients but no other authority's. */
export function selfSigned(
  name: string,
  keys: webcrypto.CryptoKeyPair,
  validity: Validity,
): Promise<X509Certificate> {
  return X509CertificateGenerator.createSelfSigned({
    ...times(validity),
    name: [{ CN: [name] }],
    keys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    ],
  });
}

/** The certificate of a server or client. */
export function issueCertificate(
  issuer: { readonly subject: string; readonly key: CryptoKey },
  { use, name, organization, hosts = [] }: Subject,
  publicKey: CryptoKey,
  validity: Validity,
): Promise<X509Certificate> {
  return X509CertificateGenerator.create({
    ...times(validity),
    subject: [...(organization === undefined ? [] : [{ O: [organization] }]), { CN: [name] }],
    issuer: issuer.subject,
    publicKey,
    signingKey: issuer.key,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([uses[use]]),
      ...(hosts.length === 0 ? [] : [new SubjectAlternativeNameExtension(hosts.map(alternativeName))]),
    ],
  });
}

function alternativeName(value: string): { readonly type: "dns" | "ip"; readonly value: string } {
  return { type: isIP(value) === 0 ? "dns" : "ip", value };
}

function times({ now, days }: Validity) {
  return {
    notBefore: new Date(now.getTime() - dayMs),
    notAfter: new Date(now.getTime() + days * dayMs),
    signingAlgorithm: algorithm,
  };
}
