/** Makes authorities: a client that has an authority's certificate trusts those that it issues (RFC 5280). */
import "reflect-metadata";
import type { webcrypto } from "node:crypto";
import { isIP } from "node:net";
import * as x509 from "@peculiar/x509";
import { Secret } from "@klutch/telemetry";

/** Describes the holder of a certificate. */
export interface Subject {
  /** The only use that the certificate allows for its key. */
  readonly use: "server" | "client";
  /** Common name; Kubernetes takes a client's for the user. */
  readonly name: string;
  /** Kubernetes takes a client's for a group. Default: none. */
  readonly organization?: string | undefined;
  /** Names and addresses by which it is reached. Default: none. */
  readonly hosts?: readonly string[] | undefined;
}

/** Sets how long a certificate is valid. */
export interface Validity {
  /** It begins a day before, because clocks differ. */
  readonly now: Date;
  /** Days of validity from `now`. */
  readonly days: number;
}

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

/** Algorithm of all keys: ECDSA with P-256. */
const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const uses = { server: "1.3.6.1.5.5.7.3.1", client: "1.3.6.1.5.5.7.3.2" } as const;
const dayMs = 24 * 3600 * 1000;

/** Makes an authority, which may issue certificates of servers and clients but no other authority's. `name` is its common name. */
export async function createAuthority(name: string, validity: Validity): Promise<Authority> {
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...times(validity),
    name: [{ CN: [name] }],
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
    ],
  });
  return authorityOf(certificate, keys.privateKey, await pairOf(certificate, keys.privateKey));
}

/** Makes an authority again of its pair. Throws when key or certificate is none. */
export async function authorityFrom(pair: KeyPair): Promise<Authority> {
  const [der] = x509.PemConverter.decode(pair.key.reveal());
  if (der === undefined) throw new Error("the key of the certificate authority is damaged");
  const key = await crypto.subtle.importKey("pkcs8", der, algorithm, false, ["sign"]);
  return authorityOf(new x509.X509Certificate(pair.certificate), key, pair);
}

function authorityOf(authority: x509.X509Certificate, signingKey: CryptoKey, pair: KeyPair): Authority {
  return {
    ...pair,
    issue: async (subject, validity) => {
      const { publicKey, privateKey } = await newKeys();
      const { name, organization } = subject;
      const certificate = await x509.X509CertificateGenerator.create({
        ...times(validity),
        subject: [...(organization === undefined ? [] : [{ O: [organization] }]), { CN: [name] }],
        issuer: authority.subject,
        publicKey,
        signingKey,
        extensions: extensionsOf(subject),
      });
      return pairOf(certificate, privateKey);
    },
  };
}

function extensionsOf({ use, hosts = [] }: Subject): x509.Extension[] {
  const names = hosts.map((value) => ({ type: isIP(value) === 0 ? "dns" : "ip", value }) as const);
  return [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension([uses[use]]),
    ...(names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)]),
  ];
}

function times({ now, days }: Validity) {
  const after = (days: number): Date => new Date(now.getTime() + days * dayMs);
  return { notBefore: after(-1), notAfter: after(days), signingAlgorithm: algorithm };
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
}

async function pairOf(certificate: x509.X509Certificate, secret: CryptoKey): Promise<KeyPair> {
  const pkcs8 = await crypto.subtle.exportKey("pkcs8", secret);
  const key = new Secret(x509.PemConverter.encode(pkcs8, "PRIVATE KEY"));
  return { certificate: certificate.toString("pem"), key };
}
