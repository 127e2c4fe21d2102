/** The context of every check, and requests that several of them send. */
import {
  type Json,
  OsbError,
  OsbTransportError,
  type PollAnswer,
  type PollClock,
  type PollEnd,
  decodeLastOperation,
  isObject,
  isOptional,
  isText,
  nextPoll,
  objectOf,
} from "@klutch/osb/internal";
import type { Exchange, Exchanger, RawRequest } from "./exchange.ts";
import type { Ledger, LedgerIds } from "./ledger.ts";
import { type CheckedPlan, longestPollingSeconds } from "./plan-choice.ts";
import type { Report } from "./report.ts";
import type { RuleId } from "./rules.ts";

/** Values from the command line that the checks send. */
export interface CheckWishes {
  readonly organizationGuid: string;
  readonly spaceGuid: string;
  /** Parameters of a provision. */
  readonly parameters: Json | undefined;
  /** Parameters of a bind. */
  readonly bindParameters: Json | undefined;
}

/** An operation that a broker began. */
export interface Operation {
  readonly ids: LedgerIds;
  /** The broker's name for it. */
  readonly name: unknown;
  readonly deletes: boolean;
}

/** Returns the operation that an answer began. */
export function operationOf(ids: LedgerIds, { body }: Exchange, deletes: boolean): Operation {
  return { ids, name: objectOf(body)["operation"], deletes };
}

/** The parts that a context is made of. */
export interface CheckParts {
  /** Throws the reason of the run's signal before a request, never during one that changes something. */
  readonly send: (request: RawRequest) => Promise<Exchange>;
  readonly report: Report;
  readonly ledger: Ledger;
  readonly plan: CheckedPlan;
  readonly wishes: CheckWishes;
  readonly clock: PollClock;
  readonly signal: AbortSignal;
  /** A new id for an instance or a binding. */
  readonly newId: () => string;
}

/** Handed to every check. */
export class CheckContext {
  readonly parts: CheckParts;

  constructor(parts: CheckParts) {
    this.parts = parts;
  }

  /** The same for another plan of the offering. */
  withPlan(planId: string): CheckContext {
    return new CheckContext({ ...this.parts, plan: { ...this.parts.plan, planId } });
  }

  /** Asks for an instance or a binding; the ledger knows of it before and after. */
  async create(
    ids: LedgerIds,
    body: RawRequest["body"],
    query: RawRequest["query"] = incomplete,
  ): Promise<Exchange> {
    if (!this.parts.ledger.has(ids)) this.parts.ledger.add(ids, this.parts.plan);
    const exchange = await this.parts.send({ method: "PUT", path: pathOf(ids), query, body });
    this.parts.ledger.answered(ids, exchange.status);
    return exchange;
  }

  /** Asks for an update of an instance. */
  update(
    ids: LedgerIds,
    body: RawRequest["body"],
    query: RawRequest["query"] = incomplete,
  ): Promise<Exchange> {
    return this.parts.send({ method: "PATCH", path: pathOf(ids), query, body });
  }

  /** Asks for the deletion of an instance or a binding; by default with all that it needs. */
  remove(
    ids: LedgerIds,
    query: RawRequest["query"] = { ...incomplete, ...planFields(this.parts.plan) },
  ): Promise<Exchange> {
    return this.parts.send({ method: "DELETE", path: pathOf(ids), query });
  }

  /** Fetches an instance or a binding. */
  fetch(ids: LedgerIds, query?: RawRequest["query"]): Promise<Exchange> {
    return this.parts.send({ method: "GET", path: pathOf(ids), query });
  }

  /** Tests that the status is one of these, and returns whether it is. */
  expectStatus(rule: RuleId, exchange: Exchange, ...wanted: readonly number[]): boolean {
    const why = `the status is ${wanted.length > 1 ? "neither" : "not"} ${wanted.join(" nor ")}`;
    return this.parts.report.expect(rule, exchange, wanted.includes(exchange.status), why);
  }

  /** Tests that the answer is 200 with an object, and returns whether it is. */
  expectObject(rule: RuleId, exchange: Exchange): boolean {
    const holds = exchange.status === 200 && isObject(exchange.body);
    return this.parts.report.expect(rule, exchange, holds, "the status is not 200 or the body no object");
  }

  /** Tests `operation` of an answer of 202. */
  expectOperation(rule: RuleId, exchange: Exchange): void {
    if (exchange.status !== 202) return;
    const { operation } = objectOf(exchange.body);
    const isName = (value: unknown): boolean =>
      value === null || (typeof value === "string" && value.length <= 10_000);
    this.parts.report.expect(rule, exchange, isOptional(operation, isName), "operation is something else");
  }

  /** Tests an answer to a request without `accepts_incomplete`: done at once, or refused with AsyncRequired. */
  expectAsyncRequired(rule: RuleId, exchange: Exchange, done: readonly number[]): void {
    const { status } = exchange;
    const holds = done.includes(status) || (status === 422 && hasError(exchange, "AsyncRequired"));
    const others: Readonly<Record<number, string>> = {
      202: "it was begun asynchronously, which nobody asked for",
      422: "the error is not AsyncRequired",
    };
    const why = others[status] ?? `the status is neither ${done.join(" nor ")} nor 422`;
    this.parts.report.expect(rule, exchange, holds, why);
  }

  /** Tests that what cannot be done during another operation is refused by the code for that. */
  expectConcurrency(exchange: Exchange, possible: readonly number[]): void {
    const { status } = exchange;
    const holds = possible.includes(status) || (status === 422 && hasError(exchange, "ConcurrencyError"));
    const why = status === 422 ? "the error is not ConcurrencyError" : "the status is not 422";
    this.parts.report.expect("concurrency-error", exchange, holds, why);
  }

  /** Tests the answer to a request that was sent again during its own operation: it is the first answer, or that it is busy where allowed. */
  async expectResent(rule: RuleId, operation: Operation, resent: Exchange, mayBeBusy = false): Promise<void> {
    if (!(await this.goesOn(operation))) {
      this.parts.report.skip("the operation ended before it could be asked again", rule);
      return;
    }
    const isSame = resent.status === 202 && objectOf(resent.body)["operation"] === operation.name;
    const isBusy = mayBeBusy && resent.status === 422 && hasError(resent, "ConcurrencyError");
    const why = resent.status === 202 ? "the operation is another" : "the status is not 202";
    this.parts.report.expect(rule, resent, isSame || isBusy, why);
  }

  /** Returns true if the operation is seen to go on. What came before counts only then: else the operation may have ended unseen. */
  async goesOn(operation: Operation): Promise<boolean> {
    const { status, body } = await this.#ask(operation);
    return status === 200 && objectOf(body)["state"] === "in progress";
  }

  /** Waits for the end of an operation, no longer than its plan says, or a day. A text says why it failed. */
  async failureOf(operation: Operation): Promise<string | undefined> {
    const { maximumPollingSeconds: seconds } = this.parts.plan;
    const { deletes } = operation;
    const limits = { deletes, maximumMs: (seconds ?? longestPollingSeconds) * 1000 };
    const { end, exchange } = await poll(() => this.#ask(operation), { ...this.parts, ...limits });
    const timedOut = end.kind === "failed" && end.timedOut;
    const why = "it goes on after the longest time of the plan";
    if (seconds !== undefined) this.parts.report.expect("polling-duration", exchange, !timedOut, why);
    if (end.kind === "failed") return end.description;
    return end.kind === "gone" && !deletes ? "it is gone" : undefined;
  }

  /** Asks once for the operation, and tests the answer by its rules. */
  async #ask(operation: Operation): Promise<Exchange> {
    const { report, plan, send } = this.parts;
    const exchange = await send(lastOperation(operation, plan));
    const { status, body, headers } = exchange;
    if (status === 503) return exchange;
    const { state, description } = objectOf(body);
    const isState = ["in progress", "succeeded", "failed"].some((known) => state === known);
    const isEnd = operation.deletes && status === 410;
    const why = status === 200 ? "state is none of the three" : "the status is another";
    report.expect("last-operation", exchange, (status === 200 && isState) || isEnd, why);
    if (status !== 200) return exchange;
    const isDescribed = isOptional(description, (value) => typeof value === "string");
    report.expect("last-operation-description", exchange, isDescribed, "description is no text");
    const isDuration = isOptional(headers["retry-after"], (value) => /^\d+$/.test(String(value)));
    report.expect("retry-after", exchange, isDuration, "Retry-After is no number of seconds");
    return exchange;
  }
}

/** Limits the attempts and waits for a broker that answers with 429. */
const patience = { attempts: 5, longestMs: 60_000, pauseMs: 1_000 } as const;

/**
 * Returns a sender that finishes each request that can change something, because its answer tells what it made, and begins none after an
 * abort. It sends a request again that was answered with 429, which proves nothing about a rule.
 */
export function sender(exchange: Exchanger, clock: PollClock, signal: AbortSignal): CheckParts["send"] {
  return async (request) => {
    for (let attempt = 1; ; attempt++) {
      signal.throwIfAborted();
      const result = await exchange(request, request.method === "GET" ? signal : undefined);
      signal.throwIfAborted();
      if (result.status !== 429 || attempt === patience.attempts) return result;
      const waitMs = result.retryAfterMs ?? patience.pauseMs * 2 ** attempt;
      await clock.sleep(Math.min(waitMs, patience.longestMs), signal);
    }
  };
}

/** Path of an instance or a binding. */
export function pathOf({ instanceId, bindingId }: LedgerIds): string {
  const instance = `/v2/service_instances/${encodeURIComponent(instanceId)}`;
  return bindingId === undefined ? instance : `${instance}/service_bindings/${encodeURIComponent(bindingId)}`;
}

/** `service_id` and `plan_id`. */
export function planFields(plan: Pick<CheckedPlan, "serviceId" | "planId">): {
  readonly service_id: string;
  readonly plan_id: string;
} {
  return { service_id: plan.serviceId, plan_id: plan.planId };
}

export const incomplete: { readonly accepts_incomplete: string } = { accepts_incomplete: "true" };

/** Returns true if the answer has this error code. */
export function hasError({ body }: Exchange, error: string): boolean {
  return objectOf(body)["error"] === error;
}

/** Returns the question for an operation. */
export function lastOperation(
  { ids, name }: Operation,
  plan: Pick<CheckedPlan, "serviceId" | "planId">,
): RawRequest {
  const operation = isText(name) ? name : undefined;
  return { method: "GET", path: `${pathOf(ids)}/last_operation`, query: { ...planFields(plan), operation } };
}

/** Asks until an operation ends or the time is over; also returns the last answer. */
export async function poll(
  ask: () => Promise<Exchange>,
  options: Pick<CheckParts, "clock" | "signal"> & { readonly deletes: boolean; readonly maximumMs: number },
): Promise<{ readonly end: PollEnd; readonly exchange: Exchange }> {
  const { clock, signal, deletes, maximumMs } = options;
  const startedAt = clock.now();
  let errors = 0;
  for (;;) {
    const exchange = await ask();
    const answer = answerOf(exchange);
    errors = "error" in answer ? errors + 1 : 0;
    const elapsedMs = clock.now() - startedAt;
    const end = nextPoll({ answer, deletes, elapsedMs, maximumMs, intervalMs: 1_000, errors });
    if (end.kind !== "wait") return { end, exchange };
    await clock.sleep(end.ms, signal);
  }
}

/** An exchange as polling judges it. */
function answerOf(exchange: Exchange): PollAnswer {
  const { status, body, retryAfterMs } = exchange;
  const action = "last_operation";
  if (status !== 200) {
    const own = isObject(body);
    return { error: new OsbError({ status, error: "", description: "", own, action, retryAfterMs }) };
  }
  try {
    return { last: decodeLastOperation(objectOf(body), action, retryAfterMs) };
  } catch (error) {
    if (error instanceof OsbTransportError) return { error };
    throw error;
  }
}
