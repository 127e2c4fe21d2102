/** X.509 certificates of an authority of one's own. */
export * from "./authority.ts";
