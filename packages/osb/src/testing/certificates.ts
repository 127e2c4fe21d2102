/** Certificates for tests of TLS: an authority, a server at 127.0.0.1 and a client. */
import "reflect-metadata";
import {
  BasicConstraintsExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";

/** PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** Made anew for each test. */
export interface Certificates {
  readonly ca: string;
  readonly server: KeyPair;
  readonly client: KeyPair;
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/** Valid around `now`. */
export async function makeCertificates(now: Date): Promise<Certificates> {
  const times = {
    notBefore: new Date(now.getTime() - 3_600_000),
    notAfter: new Date(now.getTime() + 3_600_000),
    signingAlgorithm: algorithm,
  };
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const authority = await X509CertificateGenerator.createSelfSigned({
    ...times,
    name: "CN=authority",
    keys,
    extensions: [new BasicConstraintsExtension(true, 0, true)],
  });
  const issue = async (name: string): Promise<KeyPair> => {
    const own = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
    const certificate = await X509CertificateGenerator.create({
      ...times,
      subject: `CN=${name}`,
      issuer: authority.subject,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      extensions: [new SubjectAlternativeNameExtension([{ type: "ip", value: "127.0.0.1" }])],
    });
    const pkcs8 = await crypto.subtle.exportKey("pkcs8", own.privateKey);
    return { cert: certificate.toString("pem"), key: PemConverter.encode(pkcs8, "PRIVATE KEY") };
  };
  return { ca: authority.toString("pem"), server: await issue("server"), client: await issue("client") };
}
