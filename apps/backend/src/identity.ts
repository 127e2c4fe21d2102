/** Identity of the user, as the identity provider vouches for it. */
export interface Identity {
  readonly issuer: string;
  /** The issuer's own name for the person; `client:<client id>` for a program. */
  readonly subject: string;
  /** Client id of a program that acts by client credentials. People have none, and are never taken for a program. */
  readonly client?: string | undefined;
}

/** A user with the name by which people know them. The name proves nothing: it is shown, and never compared. */
export interface Person extends Identity {
  readonly displayName?: string | undefined;
  /** E-mail address that the issuer calls verified, word for word. */
  readonly verifiedEmail?: string | undefined;
  /** Names in the control plane's RBAC; a login that an earlier release sealed has none. */
  readonly user?: string | undefined;
  readonly groups?: readonly string[] | undefined;
}
