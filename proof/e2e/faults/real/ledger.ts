/** Records the writes that the API servers acknowledged, and those that they may have made without an answer. */
import { type DynamicObject, textAt } from "@klutch/kube-core";

/** One life of a claim, from its creation to its deletion. Its id goes to the provider in the spec. */
export interface Incarnation {
  readonly id: string;
  readonly key: string;
  /** True if the creation was acknowledged. Otherwise the claim may exist or not. */
  isCreated: boolean;
  /** Highest revision of the spec that the server acknowledged. */
  acknowledgedRevision: number;
  /** `sent`: the deletion was sent, but no answer came. */
  deletion: "none" | "sent" | "acknowledged";
}

/** The outcome of a request. */
export type Outcome = "acknowledged" | "refused" | "uncertain";

/** The book of one seed. */
export class Ledger {
  readonly incarnations: Incarnation[] = [];
  /** Acknowledged late-initialised values by UID of the provider's object. */
  readonly lateInitialised: Map<string, string> = new Map();
  /** Acknowledged versions of the provider's Secrets by `<consumer namespace>/<name>`; undefined: acknowledged as deleted. */
  readonly secretVersions: Map<string, number | undefined> = new Map();
  readonly problems: string[] = [];
  readonly #seed: number;
  #counter = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** Larger with every call: revisions, status counters, versions. */
  next(): number {
    return ++this.#counter;
  }

  /** Opened before the creation is sent. */
  open(key: string): Incarnation {
    const id = `${this.#seed}-${this.next()}`;
    const opened: Incarnation = { id, key, isCreated: false, acknowledgedRevision: 0, deletion: "none" };
    this.incarnations.push(opened);
    return opened;
  }

  /** Returns the life to which a claim or its upstream object belongs. */
  incarnationOf(object: DynamicObject): Incarnation | undefined {
    const id = textAt(object, "spec", "incarnation");
    return this.incarnations.find((one) => one.id === id);
  }

  /** Something that must never happen. The same text is kept once. */
  report(problem: string): void {
    if (!this.problems.includes(problem)) this.problems.push(problem);
  }
}
