/** Collects the results of all rules. */
import type { Exchange } from "./exchange.ts";
import { type Rule, type RuleId, rules } from "./rules.ts";

/** A request and its answer, in words that have no secrets. */
export interface Evidence {
  readonly sent: string;
  readonly came: string;
}

/** One rule's result. */
export interface Finding extends Rule {
  readonly id: RuleId;
  readonly result: "passed" | "failed" | "skipped";
  /** The number of tests. */
  readonly tested: number;
  /** The fault, or the reason why it could not be tested; empty when it passed. */
  readonly why: string;
  /** Evidence of the first failure, else of the last test. */
  readonly evidence: Evidence | undefined;
}

/** The stored result of a rule. */
type Entry = Pick<Finding, "result" | "tested" | "why" | "evidence">;

/** Collects judgements. A rule fails with its first failed test, and is skipped when nothing tested it. */
export class Report {
  readonly #entries = new Map<RuleId, Entry>();

  /** Records one test. `why` describes the fault when `holds` is false. Returns `holds`. */
  expect(id: RuleId, exchange: Exchange, holds: boolean, why: string): boolean {
    const present = this.#entries.get(id);
    const tested = (present?.tested ?? 0) + 1;
    const evidence = { sent: exchange.sent, came: exchange.came };
    const result = holds ? "passed" : "failed";
    const entry = { result, tested, why: holds ? "" : why, evidence } as const;
    this.#entries.set(id, present?.result === "failed" ? { ...present, tested } : entry);
    return holds;
  }

  /** Notes why nothing tests the rules; earlier results stay. */
  skip(why: string, ...ids: readonly RuleId[]): void {
    for (const id of ids) if (!this.#entries.has(id)) this.#entries.set(id, skipped(why));
  }

  /** Takes back the result of a rule that does not apply to this broker. */
  forget(id: RuleId, why: string): void {
    this.#entries.set(id, skipped(why));
  }

  /** Returns all rules in their order. `unreached` is the reason for rules that have no result. */
  findings(unreached: string): readonly Finding[] {
    return rules.map((rule) => ({ ...rule, ...(this.#entries.get(rule.id) ?? skipped(unreached)) }));
  }
}

function skipped(why: string): Entry {
  return { result: "skipped", tested: 0, why, evidence: undefined };
}
