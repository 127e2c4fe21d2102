/** Remembers when the credentials of app clusters end, as this process issued or checked them. */
import { AccountMissingError } from "../provisioning/account-missing.ts";
import type { CredentialIssuer, IssuedCredential } from "../provisioning/credentials.ts";

/** The ends by cluster namespace. */
export class CredentialEnds {
  readonly #ends = new Map<string, number>();

  /** Returns the issuer, whose answers are remembered. */
  remembering(issuer: CredentialIssuer): CredentialIssuer {
    const remembered = (namespace: string, issued: IssuedCredential): IssuedCredential => {
      if (issued.endsAt === undefined) this.#ends.delete(namespace);
      else this.#ends.set(namespace, issued.endsAt);
      return issued;
    };
    return {
      issue: async (namespace, options) => remembered(namespace, await issuer.issue(namespace, options)),
      ensure: async (namespace, options) => {
        try {
          return remembered(namespace, await issuer.ensure(namespace, options));
        } catch (error) {
          // An operator revoked it: its end is no news.
          if (error instanceof AccountMissingError) this.#ends.delete(namespace);
          throw error;
        }
      },
    };
  }

  /** Returns the end in milliseconds since the epoch, by cluster namespace; forgets namespaces that are not bound. */
  current(isBound: (namespace: string) => boolean): ReadonlyMap<string, number> {
    for (const namespace of this.#ends.keys()) if (!isBound(namespace)) this.#ends.delete(namespace);
    return this.#ends;
  }
}
