/** X.509 certificates of an authority of one's own. */
export { type Authority, authorityFrom, createAuthority, type KeyPair } from "./authority.ts";
export type { Subject, Validity } from "./issue.ts";
