/** What the checks may have made at the broker, written down before it is asked for, so that nothing stays. */

/** An instance or a binding that may be there. */
export interface LedgerEntry {
  readonly instanceId: string;
  readonly bindingId: string | undefined;
  readonly serviceId: string;
  readonly planId: string;
  /**
   * What is known of it: `asked` for, `refused` with 4xx, `unsure` because no answer came, or `there`. One that is gone is
   * not in the ledger.
   */
  readonly state: "asked" | "refused" | "unsure" | "there";
}

/** Which plan it belongs to. */
export type LedgerPlan = Pick<LedgerEntry, "serviceId" | "planId">;

/** Entries by their ids. */
export class Ledger {
  readonly #entries = new Map<string, LedgerEntry>();

  /** Before the request is sent. */
  add(ids: LedgerIds, plan: LedgerPlan): void {
    const { serviceId, planId } = plan;
    const entry = { instanceId: ids.instanceId, bindingId: ids.bindingId, serviceId, planId };
    this.#entries.set(keyOf(ids), { ...entry, state: "asked" });
  }

  /** After a create was answered with `status`; 0 is no answer. */
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

  /** The broker said that it is deleted. */
  gone(ids: LedgerIds): void {
    this.#entries.delete(keyOf(ids));
  }

  has(ids: LedgerIds): boolean {
    return this.#entries.has(keyOf(ids));
  }

  /** In the order to delete them: bindings before instances. */
  get entries(): readonly LedgerEntry[] {
    const all = [...this.#entries.values()];
    return [
      ...all.filter(({ bindingId }) => bindingId !== undefined),
      ...all.filter(({ bindingId }) => bindingId === undefined),
    ];
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
