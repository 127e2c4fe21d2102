/** Tables of what becomes of a change from one plan to another, tried on a real API server. */
import assert from "node:assert/strict";
import type { ResourceType } from "@klutch/kube-core";
import type { ClaimServer } from "./claim-server.ts";

/** Letters of the messages that a change is refused with; none: it is accepted. */
export type Verdicts = (from: string, to: string) => string;

/** Reads a table: rows are the previous plan, columns the next, `.` means accepted. Throws for a missing pair. */
export function planTable(text: string): Verdicts {
  const [head = [], ...rows] = text
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/));
  const cells = new Map(
    rows.flatMap(([from = "", ...row]) => row.map((cell, index) => [`${from} ${head[index] ?? ""}`, cell])),
  );
  assert.equal(cells.size, head.length ** 2);
  return (from, to) => {
    const cell = cells.get(`${from} ${to}`);
    assert.ok(cell !== undefined, `${from} → ${to} is not in the table`);
    return cell === "." ? "" : cell;
  };
}

/** All plans of a service, and the expectation for each change between two of them. */
export interface PlanChanges {
  readonly type: ResourceType;
  /** A service that has them all. */
  readonly service: string;
  readonly plans: readonly string[];
  readonly verdicts: Verdicts;
  /** Further fields of the claims. Default: none. */
  readonly more?: object | undefined;
  /** Expected messages by letter. */
  readonly messages: Readonly<Record<string, string>>;
}

/** A living instance of the plan becomes each other one; nothing of that is written. Throws where it is not as expected. */
export async function checkPlanChanges(
  server: ClaimServer,
  from: string,
  { type, service, plans, verdicts, messages, more = {} }: PlanChanges,
): Promise<void> {
  const name = `${from}-of-${service}`;
  await server.create(type, name, { service, plan: from, ...more });
  const answers = await Promise.all(
    plans.map((plan) => answerOf(server.patch(type, name, { plan }, { dryRun: true }))),
  );
  for (const [index, answer] of answers.entries()) {
    const to = plans[index] ?? "";
    const verdict = verdicts(from, to);
    const expected = Object.keys(messages).filter((letter) => verdict.includes(letter));
    const found = Object.entries(messages).filter(([, message]) => answer.includes(message));
    assert.deepEqual(
      found.map(([letter]) => letter),
      expected,
      `${from} → ${to}: ${answer}`,
    );
    if (expected.length === 0) assert.equal(answer, accepted, `${from} → ${to}`);
    else assert.ok(answer.includes(`spec.plan is "${from}" and cannot become "${to}"`), answer);
  }
}

/** A service with a plan, and the message that it is refused with; undefined: it is accepted. */
export type Combination = readonly [service: string, plan: string, message: string | undefined];

/** Asks for each of them; nothing is written. Throws where it is not as expected. */
export async function checkCombinations(
  server: ClaimServer,
  type: ResourceType,
  combinations: readonly Combination[],
): Promise<void> {
  const [[firstService, firstPlan] = []] = combinations;
  await server.create(type, "first", { service: firstService, plan: firstPlan });
  const answers = combinations.map(([service, plan]) =>
    answerOf(server.create(type, "combination", { service, plan }, { dryRun: true })),
  );
  for (const [index, answer] of (await Promise.all(answers)).entries()) {
    const [service, plan, message] = combinations[index] ?? [];
    if (message === undefined) assert.equal(answer, accepted, `${service} with ${plan}`);
    else {
      const refusal = `${message}: spec.service is "${service}", spec.plan is "${plan}"`;
      assert.ok(answer.includes(refusal), `${service} with ${plan}: ${answer}`);
    }
  }
}

const accepted = "accepted";

function answerOf(request: Promise<unknown>): Promise<string> {
  return request.then(
    () => accepted,
    (error: unknown) => String(error),
  );
}
