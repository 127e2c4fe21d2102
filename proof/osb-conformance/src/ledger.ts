/** Records the things that the checks may have made at the broker, before they are asked for, so that nothing stays. */

/** An instance or a binding that may exist. */
export interface LedgerEntry {
  readonly instanceId: string;
  readonly bindingId: string | undefined;
  readonly serviceId: string;
  readonly planId: string;
  /**
   * `asked` for, `refused` with 4xx, `unsure` because no answer came, or `there`. The ledger has no entry for a thing that is
   * gone.
   */
  readonly state: "asked" | "refused" | "unsure" | "there";
}

/** Keeps entries by their ids. */
export class Ledger {
  readonly #entries = new Map<string, LedgerEntry>();

  /** Adds an entry before the request is sent. */
  add(
    { instanceId, bindingId }: LedgerIds,
    { serviceId, planId }: Pick<LedgerEntry, "serviceId" | "planId">,
  ): void {
    const entry = { instanceId, bindingId, serviceId, planId, state: "asked" } as const;
    this.#entries.set(keyOf(entry), entry);
  }

  /** Notes that a create was answered with `status`; 0 is no answer. */
  answered(ids: LedgerIds, status: number): void {
    const entry = this.#entries.get(keyOf(ids));
    if (entry === undefined || entry.state === "there") return;
    const state =
      status >= 200 && status < 300 ? "there" : status >= 400 && status < 500 ? "refused" : "unsure";
    this.#entries.set(keyOf(ids), { ...entry, state });
  }

  changedPlan(ids: LedgerIds, planId: string): void {
    const entry = this.#entries.get(keyOf(ids));
    if (entry !== undefined) this.#entries.set(keyOf(ids), { ...entry, planId });
  }

  /** Removes an entry that the broker has deleted. */
  gone(ids: LedgerIds): void {
    this.#entries.delete(keyOf(ids));
  }

  has(ids: LedgerIds): boolean {
    return this.#entries.has(keyOf(ids));
  }

  /** All entries in the order to delete them: bindings before instances. */
  get entries(): readonly LedgerEntry[] {
    const isInstance = ({ bindingId }: LedgerEntry): number => Number(bindingId === undefined);
    return [...this.#entries.values()].toSorted((left, right) => isInstance(left) - isInstance(right));
  }
}

/** Names an entry. */
export interface LedgerIds {
  readonly instanceId: string;
  readonly bindingId?: string | undefined;
}

function keyOf({ instanceId, bindingId = "" }: LedgerIds): string {
  return JSON.stringify([instanceId, bindingId]);
}
