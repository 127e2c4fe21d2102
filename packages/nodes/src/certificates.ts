/** Certificates of a cluster: one authority for servers and clients, as cluster set-up tools make them (Kubernetes: PKI certificates and requirements). */
import "reflect-metadata";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";
import { Secret } from "@klutch/telemetry";

/** A certificate and its key, PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: Secret<string>;
}

/** For whom. */
export type Subject =
  /** A client: Kubernetes takes the common name for the user and the organisation for a group. */
  | { readonly kind: "client"; readonly user: string; readonly group?: string | undefined }
  | {
      readonly kind: "server";
      readonly name: string;
      readonly dns: readonly string[];
      readonly ips: readonly string[];
    };

/** Signs. */
export interface Authority {
  readonly certificate: string;
  issue(subject: Subject): Promise<KeyPair>;
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const usages = { server: "1.3.6.1.5.5.7.3.1", client: "1.3.6.1.5.5.7.3.2" } as const;
const dayMs = 24 * 3600 * 1000;
const lifetimeMs = 365 * dayMs;

/** A new authority. Its certificates are valid from the day before `now`, for a year. */
export async function createAuthority(name: string, now: Date): Promise<Authority> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const validity = {
    notBefore: new Date(now.getTime() - dayMs),
    notAfter: new Date(now.getTime() + lifetimeMs),
    signingAlgorithm: algorithm,
  };
  const authority = await X509CertificateGenerator.createSelfSigned({
    ...validity,
    name: `CN=${name}`,
    keys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    ],
  });
  const issue = async (subject: Subject): Promise<KeyPair> => {
    const own = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
    const certificate = await X509CertificateGenerator.create({
      ...validity,
      subject: nameOf(subject),
      issuer: authority.subject,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([usages[subject.kind]]),
        ...alternativeNames(subject),
      ],
    });
    const pkcs8 = await crypto.subtle.exportKey("pkcs8", own.privateKey);
    return {
      certificate: certificate.toString("pem"),
      key: new Secret(PemConverter.encode(pkcs8, "PRIVATE KEY")),
    };
  };
  return { certificate: authority.toString("pem"), issue };
}

function nameOf(subject: Subject): { readonly [field: string]: string[] }[] {
  if (subject.kind === "server") return [{ CN: [subject.name] }];
  return [...(subject.group === undefined ? [] : [{ O: [subject.group] }]), { CN: [subject.user] }];
}

function alternativeNames(subject: Subject): readonly SubjectAlternativeNameExtension[] {
  if (subject.kind === "client") return [];
  const dns = subject.dns.map((value) => ({ type: "dns", value }) as const);
  const ips = subject.ips.map((value) => ({ type: "ip", value }) as const);
  return [new SubjectAlternativeNameExtension([...dns, ...ips])];
}
