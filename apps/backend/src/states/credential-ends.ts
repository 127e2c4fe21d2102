/** Remembers when the credentials of app clusters end, as this process issued or checked them. */
import { AccountMissingError } from "../provisioning/account-missing.ts";
import type { CredentialIssuer, IssuedCredential } from "../provisioning/credentials.ts";

/** The ends by cluster namespace. */
export class CredentialEnds {
  readonly #ends = new Map<string, number>();
  /** Namespaces whose credential was checked or revoked: without an end there, it does not end. */
  readonly #known = new Set<string>();
  readonly #handlers = new Set<(namespace: string) => void>();

  /** Returns the issuer, whose answers are remembered. */
  remembering(issuer: CredentialIssuer): CredentialIssuer {
    const remembered = (namespace: string, issued: IssuedCredential): IssuedCredential => {
      this.#set(namespace, issued.endsAt);
      return issued;
    };
    return {
      issue: async (namespace, options) => remembered(namespace, await issuer.issue(namespace, options)),
      ensure: async (namespace, options) => {
        try {
          return remembered(namespace, await issuer.ensure(namespace, options));
        } catch (error) {
          // An operator revoked it: its end is no news.
          if (error instanceof AccountMissingError) this.#set(namespace, undefined);
          throw error;
        }
      },
    };
  }

  /** Returns the end in milliseconds since the epoch, by cluster namespace; forgets namespaces that are not bound. */
  current(isBound: (namespace: string) => boolean): ReadonlyMap<string, number> {
    for (const namespace of this.#known) {
      if (isBound(namespace)) continue;
      this.#known.delete(namespace);
      this.#ends.delete(namespace);
    }
    return this.#ends;
  }

  /** Returns the end of one, undefined if it does not end; or `unknown` before this process has checked it. */
  endOf(namespace: string): number | undefined | "unknown" {
    return this.#known.has(namespace) ? this.#ends.get(namespace) : "unknown";
  }

  /** Calls `handler` with the cluster namespace when an end becomes known or changes. */
  onChange(handler: (namespace: string) => void): void {
    this.#handlers.add(handler);
  }

  #set(namespace: string, endsAt: number | undefined): void {
    const before = this.endOf(namespace);
    this.#known.add(namespace);
    if (endsAt === undefined) this.#ends.delete(namespace);
    else this.#ends.set(namespace, endsAt);
    if (before !== endsAt) for (const handler of this.#handlers) handler(namespace);
  }
}
