/**
 * Contexts of the traces of claims, for the copies of their Secrets. Crossplane writes such a Secret without a context, so its claim is found: by the
 * name that the claim's provider says, or by the owner of the Secret. Asked only while a trace is on.
 */
import type { ObjectMeta, ObjectRef } from "@klutch/kube-core";

/** Names a Secret: `ref` in the app cluster, `owners` the UIDs of its owners on the provider. */
export interface SecretOfClaim {
  readonly ref: ObjectRef;
  readonly owners: ReadonlySet<string>;
}

/** Returns contexts as the claims' upstream objects say them; not checked. */
type CausesOf = (secret: SecretOfClaim) => Iterable<string>;

/** Asks all bound APIs of one provider. */
export class SecretCauses {
  readonly #sources = new Set<CausesOf>();

  /** Asks `source`, too, until the result is disposed. */
  use(source: CausesOf): Disposable {
    this.#sources.add(source);
    return { [Symbol.dispose]: () => void this.#sources.delete(source) };
  }

  /** Returns the causes of a Secret. `metadata`: that of the provider's. */
  *of(ref: ObjectRef, metadata: ObjectMeta | undefined): Generator<string> {
    const owners = new Set((metadata?.ownerReferences ?? []).map(({ uid }) => uid));
    for (const source of this.#sources) yield* source({ ref, owners });
  }
}
