/** Certificates for tests of TLS: an authority, a server at 127.0.0.1 and a client. */
import { createAuthority, type Subject } from "@klutch/certificates";

/** PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** Certificates, created for each test. */
export interface Certificates {
  readonly ca: string;
  readonly server: KeyPair;
  readonly client: KeyPair;
}

/** Valid around `now`. */
export async function makeCertificates(now: Date): Promise<Certificates> {
  const validity = { now, days: 1 };
  const authority = await createAuthority("authority", validity);
  const pairOf = async (subject: Subject): Promise<KeyPair> => {
    const { certificate, key } = await authority.issue(subject, validity);
    return { cert: certificate, key: key.reveal() };
  };
  return {
    ca: authority.certificate,
    server: await pairOf({ use: "server", name: "server", hosts: ["127.0.0.1"] }),
    client: await pairOf({ use: "client", name: "client" }),
  };
}
