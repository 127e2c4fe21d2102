/** An authority and a certificate of a server, made for one test. */
import { createAuthority } from "@klutch/certificates";
import { systemClock } from "@klutch/kube";

/** PEM texts. */
export interface Certificates {
  /** Certificate of the authority. */
  readonly ca: string;
  readonly server: { readonly cert: string; readonly key: string };
}

/** Makes both for a server of that name, which is not its address. Two authorities of one name would be taken for one. */
export async function createCertificates(name = "manager.test", issuer = "authority"): Promise<Certificates> {
  const validity = { now: new Date(systemClock.now()), days: 1 };
  const authority = await createAuthority(issuer, validity);
  const { certificate, key } = await authority.issue(
    { use: "server", name: "server", hosts: [name] },
    validity,
  );
  return { ca: authority.certificate, server: { cert: certificate, key: key.reveal() } };
}
