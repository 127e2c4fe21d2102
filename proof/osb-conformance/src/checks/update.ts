/** Fetching and updating an instance. */
import { isObject, isOptional, objectOf } from "@klutch/osb/internal";
import { type CheckContext, hasError, operationOf, planFields } from "../context.ts";
import type { Exchange } from "../exchange.ts";
import type { LedgerIds } from "../ledger.ts";

const fetchRules = [
  "fetch-instance",
  "fetch-instance-fields",
  "fetch-instance-missing",
  "fetch-instance-provisioning",
] as const;

/** The instance is there and nothing works on it. */
export async function checkFetchInstance(context: CheckContext, ids: LedgerIds): Promise<void> {
  const { report, plan } = context.parts;
  if (!plan.instancesRetrievable) {
    report.skip("the offering does not declare instances_retrievable", ...fetchRules, "update-unchanged");
    return;
  }
  await fetchInstance(context, ids);
  const missing = await context.fetch({ instanceId: context.parts.newId() });
  context.expectStatus("fetch-instance-missing", missing, 404);
}

/** Fetches the instance, which has the context's plan, and tests the answer. */
async function fetchInstance(context: CheckContext, ids: LedgerIds): Promise<Exchange> {
  const { report, plan } = context.parts;
  const fetched = await context.fetch(ids, planFields(plan));
  if (!context.expectObject("fetch-instance", fetched)) return fetched;
  const { service_id: service, plan_id, parameters } = objectOf(fetched.body);
  const isRight =
    isOptional(service, (id) => id === plan.serviceId) &&
    isOptional(plan_id, (id) => id === plan.planId) &&
    isOptional(parameters, isObject);
  report.expect("fetch-instance-fields", fetched, isRight, "one of them is another");
  return fetched;
}

/** Returns the plan that the instance has at the end. A text says why the instance cannot be used any more. */
export async function checkUpdate(
  context: CheckContext,
  ids: LedgerIds,
): Promise<{ readonly planId: string } | string> {
  const { report, plan } = context.parts;
  await checkRefusedUpdate(context, ids);

  const same = { ...planFields(plan), context: { platform: "kubernetes" } };
  const synchronous = await context.update(ids, same, {});
  if (isUnsupported(synchronous))
    report.skip(`the broker does not support this update: ${synchronous.came}`, "update-async-required");
  else context.expectAsyncRequired("update-async-required", synchronous, [200]);
  const failure = (await endOf(context, ids, synchronous)) ?? (await checkAccepted(context, ids, same));
  return failure ?? checkPlanChange(context, ids);
}

async function checkRefusedUpdate(context: CheckContext, ids: LedgerIds): Promise<void> {
  const { report, plan } = context.parts;
  const before = plan.instancesRetrievable ? await context.fetch(ids) : undefined;
  const refused = await context.update(ids, { plan_id: plan.planId });
  context.expectStatus("update-service-id", refused, 400);
  if (before === undefined || refused.status < 400 || refused.status >= 500) return;
  const after = await context.fetch(ids);
  const isSame = JSON.stringify(after.body) === JSON.stringify(before.body);
  report.expect("update-unchanged", after, isSame, "the instance is another than before");
}

/** Returns true for 422 with another error than that the request needs `accepts_incomplete`. */
function isUnsupported(exchange: Exchange): boolean {
  return exchange.status === 422 && !hasError(exchange, "AsyncRequired") && isObject(exchange.body);
}

/** An update that changes nothing: it may be done at once, take time, or not be supported. */
async function checkAccepted(
  context: CheckContext,
  ids: LedgerIds,
  body: Readonly<Record<string, unknown>>,
): Promise<string | undefined> {
  const { report, plan } = context.parts;
  const updated = await context.update(ids, body);
  expectAccepted(context, updated);
  if (updated.status !== 202) {
    report.skip("the broker updates at once", "update-resent", "update-operation");
    return undefined;
  }
  const operation = operationOf(ids, updated, false);
  const resent = await context.update(ids, body);
  if (resent.status === 422) {
    if (await context.goesOn(operation)) context.expectConcurrency(resent, []);
    report.skip("the broker does not take the same update twice at once", "update-resent");
  } else await context.expectResent("update-resent", operation, resent);
  if (plan.instancesRetrievable) {
    const fetched = await context.fetch(ids);
    if (await context.goesOn(operation)) context.expectConcurrency(fetched, [200]);
  }
  return endOf(context, ids, updated);
}

function expectAccepted(context: CheckContext, updated: Exchange): void {
  const { status } = updated;
  const holds = status === 200 || status === 202 || isUnsupported(updated);
  context.parts.report.expect("update-accepted", updated, holds, "the status is none of these");
  context.expectOperation("update-operation", updated);
}

/** Waits for an update that takes time. A text says that it failed. */
async function endOf(context: CheckContext, ids: LedgerIds, accepted: Exchange): Promise<string | undefined> {
  if (accepted.status !== 202) return undefined;
  const failure = await context.failureOf(operationOf(ids, accepted, false));
  return failure === undefined ? undefined : `the update did not succeed: ${failure}`;
}

async function checkPlanChange(
  context: CheckContext,
  ids: LedgerIds,
): Promise<{ readonly planId: string } | string> {
  const { report, plan, ledger } = context.parts;
  const { planId, otherPlanId } = plan;
  if (!plan.planUpdateable || otherPlanId === undefined || !plan.instancesRetrievable) {
    report.skip("it needs plan_updateable, another plan and instances_retrievable", "update-plan");
    return { planId };
  }
  const after = context.withPlan(otherPlanId);
  const changed = await context.update(ids, {
    ...planFields(after.parts.plan),
    context: { platform: "kubernetes" },
    previous_values: { plan_id: planId },
  });
  expectAccepted(context, changed);
  if (changed.status !== 200 && changed.status !== 202) {
    report.skip(`the broker does not support this change: ${changed.came}`, "update-plan");
    return { planId };
  }
  ledger.changedPlan(ids, otherPlanId);
  const failure = await endOf(context, ids, changed);
  if (failure !== undefined) return failure;
  const fetched = await fetchInstance(after, ids);
  const hasPlan = isOptional(objectOf(fetched.body)["plan_id"], (id) => id === otherPlanId);
  report.expect("update-plan", fetched, hasPlan, "plan_id is another");
  return { planId: otherPlanId };
}
