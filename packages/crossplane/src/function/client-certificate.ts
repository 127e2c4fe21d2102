/**
 * Decides whether a client's certificate was issued by our authority. OpenSSL's own answer cannot be used: the certificates that
 * Crossplane makes have the same distinguished name and number as their authority and no authority key identifier, so OpenSSL
 * calls them self-signed and never checks the signature. Here the signature is what counts. Intermediates are not accepted.
 */
import type { X509Certificate } from "node:crypto";
import { certificatesIn } from "@klutch/kube-runtime";

/** OID of the extended key usage "TLS client authentication". */
const clientAuth = "1.3.6.1.5.5.7.3.2";

/** The certificates of a PEM file that may issue others. Throws when there is none. */
export function readAuthorities(pem: string): readonly X509Certificate[] {
  const authorities = certificatesIn(pem).filter((certificate) => certificate.ca);
  if (authorities.length === 0)
    throw new Error("ca.crt has no certificate of an authority (basic constraint CA)");
  return authorities;
}

/**
 * Why the certificate is not accepted; undefined when it is. That the client holds its key was proved by the handshake.
 * `now` in milliseconds since the epoch.
 */
export function refusalOf(
  certificate: X509Certificate | undefined,
  authorities: readonly X509Certificate[],
  now: number,
): string | undefined {
  if (certificate === undefined) return "it sent no certificate";
  if (certificate.ca) return "its certificate is that of an authority";
  const issuer = authorities.find(
    (authority) => certificate.checkIssued(authority) && certificate.verify(authority.publicKey),
  );
  if (issuer === undefined) return "its certificate was not signed by a key of ca.crt";
  if (!isValidAt(issuer, now)) return "the authority that signed its certificate is not valid now";
  if (!isValidAt(certificate, now)) {
    return `its certificate is valid from ${certificate.validFrom} to ${certificate.validTo} only`;
  }
  // Node's name for the extended key usage; its type knows only the case that it is there.
  const usages: readonly string[] | undefined = certificate.keyUsage;
  return usages?.includes(clientAuth) === true ? undefined : "its certificate is not for TLS clients";
}

function isValidAt(certificate: X509Certificate, now: number): boolean {
  return certificate.validFromDate.getTime() <= now && now <= certificate.validToDate.getTime();
}
