/** What every check has at hand, and what several of them ask. */
import {
  type Json,
  OsbError,
  OsbTransportError,
  type PollAnswer,
  type PollClock,
  type PollEnd,
  decodeLastOperation,
  isObject,
  nextPoll,
  objectOf,
} from "@klutch/osb/internal";
import type { Exchange, Exchanger, RawRequest } from "./exchange.ts";
import type { Ledger, LedgerIds } from "./ledger.ts";
import { type CheckedPlan, longestPollingSeconds } from "./plan-choice.ts";
import type { Report } from "./report.ts";
import type { RuleId } from "./rules.ts";

/** What the checks send along. */
export interface CheckWishes {
  readonly organizationGuid: string;
  readonly spaceGuid: string;
  /** Of a provision. */
  readonly parameters: Json | undefined;
  /** Of a bind. */
  readonly bindParameters: Json | undefined;
}

/** Handed to every check. */
export interface CheckContext {
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

/** How often, and how long at most, a broker that is asked too fast is waited for. */
const patience = { attempts: 5, longestMs: 60_000, pauseMs: 1_000 } as const;

/**
 * A request that was begun is ended, so that it is known what it made; the next one is not begun after an abort. One that was
 * answered with 429 is sent again: it says nothing about a rule.
 */
export function sender(exchange: Exchanger, clock: PollClock, signal: AbortSignal): CheckContext["send"] {
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

/** Asks for an instance or a binding; the ledger knows of it before and after. */
export async function create(
  context: CheckContext,
  ids: LedgerIds,
  body: RawRequest["body"],
  query: Readonly<Record<string, string>> = incomplete,
): Promise<Exchange> {
  if (!context.ledger.has(ids)) context.ledger.add(ids, context.plan);
  const exchange = await context.send({ method: "PUT", path: pathOf(ids), query, body });
  context.ledger.answered(ids, exchange.status);
  return exchange;
}

/** The `operation` of an answer. */
export function operationOfBody({ body }: Exchange): unknown {
  return objectOf(body)["operation"];
}

/** Tests `operation` of an answer of 202. */
export function expectOperation(context: CheckContext, rule: RuleId, exchange: Exchange): void {
  if (exchange.status !== 202) return;
  const operation = operationOfBody(exchange);
  const holds =
    operation === undefined ||
    operation === null ||
    (typeof operation === "string" && operation.length <= 10_000);
  context.report.expect(rule, exchange, holds, "operation is something else");
}

export function hasError({ body }: Exchange, error: string): boolean {
  return objectOf(body)["error"] === error;
}

/** Asked for without `accepts_incomplete`: done at once, or refused with AsyncRequired. */
export function expectAsyncRequired(
  context: CheckContext,
  rule: RuleId,
  exchange: Exchange,
  done: readonly number[],
): void {
  const { status } = exchange;
  const holds = done.includes(status) || (status === 422 && hasError(exchange, "AsyncRequired"));
  const why =
    status === 202
      ? "it was begun asynchronously, which nobody asked for"
      : status === 422
        ? "the error is not AsyncRequired"
        : `the status is neither ${done.join(" nor ")} nor 422`;
  context.report.expect(rule, exchange, holds, why);
}

/** One question for the operation, tested by its rules. */
export async function askOperation(
  context: CheckContext,
  ids: LedgerIds,
  options: { readonly operation: unknown; readonly planId?: string | undefined; readonly deletes: boolean },
): Promise<Exchange> {
  const { report, plan } = context;
  const { operation, deletes, planId = plan.planId } = options;
  const exchange = await context.send({
    method: "GET",
    path: `${pathOf(ids)}/last_operation`,
    query: {
      service_id: plan.serviceId,
      plan_id: planId,
      operation: typeof operation === "string" && operation !== "" ? operation : undefined,
    },
  });
  const { status, body, headers } = exchange;
  if (status === 503) return exchange;
  const { state, description } = objectOf(body);
  const isState = state === "in progress" || state === "succeeded" || state === "failed";
  const why = status === 200 ? "state is none of the three" : "the status is another";
  report.expect("last-operation", exchange, (status === 200 && isState) || (deletes && status === 410), why);
  if (status !== 200) return exchange;
  const isDescribed = description === undefined || typeof description === "string";
  report.expect("last-operation-description", exchange, isDescribed, "description is no text");
  const retryAfter = headers["retry-after"];
  const isDuration = retryAfter === undefined || /^\d+$/.test(retryAfter);
  report.expect("retry-after", exchange, isDuration, "Retry-After is no number of seconds");
  return exchange;
}

/** Whether an answer to `last_operation` says that the operation goes on. */
export function isRunning({ status, body }: Exchange): boolean {
  return status === 200 && objectOf(body)["state"] === "in progress";
}

/** Waits for the end of an operation, no longer than its plan says, or a day. */
export async function untilEnded(
  context: CheckContext,
  ids: LedgerIds,
  options: { readonly operation: unknown; readonly planId?: string | undefined; readonly deletes: boolean },
): Promise<PollEnd> {
  const { clock, signal, report, plan } = context;
  const startedAt = clock.now();
  const maximumMs = (plan.maximumPollingSeconds ?? longestPollingSeconds) * 1000;
  let errors = 0;
  for (;;) {
    const exchange = await askOperation(context, ids, options);
    const answer = answerOf(exchange);
    errors = "error" in answer ? errors + 1 : 0;
    const elapsedMs = clock.now() - startedAt;
    const observed = { answer, deletes: options.deletes, elapsedMs, maximumMs, intervalMs: 1_000, errors };
    const step = nextPoll(observed);
    if (step.kind === "wait") {
      await clock.sleep(step.ms, signal);
      continue;
    }
    const timedOut = step.kind === "failed" && step.timedOut;
    if (plan.maximumPollingSeconds !== undefined)
      report.expect("polling-duration", exchange, !timedOut, "it goes on after the longest time of the plan");
    return step;
  }
}

/** An exchange as polling judges it. */
export function answerOf(exchange: Exchange): PollAnswer {
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
