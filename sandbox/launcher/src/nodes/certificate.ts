/** Certificates of what people reach, by an authority of their own, as in a closed network. */
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { type Authority, createAuthority, type KeyPair } from "@klutch/certificates";

/** Validity of the certificates. */
const days = 365;

/** A new authority. Its name is no server's: OpenSSL takes a certificate whose issuer has its own name for self-signed. */
export function newAuthority(now: Date): Promise<Authority> {
  return createAuthority("klutch-sandbox authority", { now, days });
}

/** A certificate of it for an address. */
export function certificateFor(authority: Authority, address: string, now: Date): Promise<KeyPair> {
  return authority.issue({ use: "server", name: "klutch-sandbox", hosts: [address] }, { now, days });
}

/** Makes the browser that this process plays trust the authority (PEM). A person would add it to the browser's. */
export function trust(authority: string): void {
  setDefaultCACertificates([...getCACertificates("default"), authority]);
}
