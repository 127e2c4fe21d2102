/** X.509 certificates of an authority of one's own. */
export {
  type Authority,
  authorityFrom,
  createAuthority,
  type KeyPair,
  type Subject,
} from "./authority.ts";
