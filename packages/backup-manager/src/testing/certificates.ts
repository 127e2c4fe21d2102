/** An authority and a certificate of a server, made for one test. */
import "reflect-metadata";
import {
  BasicConstraintsExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";

/** PEM texts. */
export interface Certificates {
  /** Of the authority. */
  readonly ca: string;
  readonly server: { readonly cert: string; readonly key: string };
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/** Makes both for a server of that name, which is not its address. Two authorities of one name would be taken for one. */
export async function createCertificates(name = "manager.test", issuer = "authority"): Promise<Certificates> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const authority = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${issuer}`,
    keys,
    signingAlgorithm: algorithm,
    extensions: [new BasicConstraintsExtension(true, 0, true)],
  });
  const own = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.create({
    subject: "CN=server",
    issuer: authority.subject,
    publicKey: own.publicKey,
    signingKey: keys.privateKey,
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new SubjectAlternativeNameExtension([{ type: "dns", value: name }]),
    ],
  });
  const key = PemConverter.encode(await crypto.subtle.exportKey("pkcs8", own.privateKey), "PRIVATE KEY");
  return { ca: authority.toString("pem"), server: { cert: certificate.toString("pem"), key } };
}
