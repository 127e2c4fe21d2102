/** Identity of the user, as the identity provider vouches for it. */
export interface Identity {
  readonly issuer: string;
  /** The issuer's own name for the person. */
  readonly subject: string;
}
