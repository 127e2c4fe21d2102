/** Proofs in the provider's service namespaces of whose they are. */
import type { Clock } from "@klutch/kube";
import type { Logger } from "@klutch/telemetry";

/** Asks a service namespace; undefined when it says nothing. */
export type ProofOf = (providerNamespace: string) => Promise<string | undefined>;

const retryMs = 10_000;

/** Asks once for each service namespace until it is forgotten, and again only after an error. */
export class MappingProofs implements Disposable {
  readonly #proofOf: ProofOf;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** An entry without a value was asked for, or has nothing to say. */
  readonly #known = new Map<string, string | undefined>();
  readonly #retries = new Set<() => void>();
  #isDisposed = false;

  constructor(proofOf: ProofOf, clock: Clock, logger: Logger) {
    this.#proofOf = proofOf;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** The answer; undefined before. */
  get(providerNamespace: string): string | undefined {
    return this.#known.get(providerNamespace);
  }

  /** Makes the next `request` ask again. */
  forget(providerNamespace: string): void {
    this.#known.delete(providerNamespace);
  }

  /** Calls `onAnswer` when there is one. Nothing happens when it was asked for before, and no more when `isWanted` says no. */
  request(providerNamespace: string, isWanted: () => boolean, onAnswer: () => void): void {
    if (this.#known.has(providerNamespace)) return;
    this.#ask(providerNamespace, () => !this.#isDisposed && isWanted(), onAnswer);
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    for (const cancel of this.#retries) cancel();
    this.#retries.clear();
  }

  #ask(providerNamespace: string, isWanted: () => boolean, onAnswer: () => void): void {
    this.#known.set(providerNamespace, undefined);
    this.#proofOf(providerNamespace).then(
      (proof) => {
        if (!isWanted()) return;
        this.#known.set(providerNamespace, proof);
        onAnswer();
      },
      (error: unknown) => {
        if (!isWanted()) return;
        this.#logger.debug("a service namespace could not be read", { namespace: providerNamespace, error });
        const cancel = this.#clock.schedule(retryMs, () => {
          this.#retries.delete(cancel);
          if (isWanted()) this.#ask(providerNamespace, isWanted, onAnswer);
        });
        this.#retries.add(cancel);
      },
    );
  }
}
