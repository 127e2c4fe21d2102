/** Fetching and updating an instance. */
import { isObject, isOptional, objectOf } from "@klutch/osb/internal";
import {
  askOperation,
  type CheckContext,
  expectAsyncRequired,
  expectOperation,
  hasError,
  incomplete,
  isRunning,
  operationOfBody,
  pathOf,
  planFields,
  untilEnded,
} from "../context.ts";
import type { Exchange, RawRequest } from "../exchange.ts";
import { type CheckedInstance, expectConcurrency } from "./provision.ts";

const fetchRules = [
  "fetch-instance",
  "fetch-instance-fields",
  "fetch-instance-missing",
  "fetch-instance-provisioning",
] as const;

/** The instance is there and nothing works on it. */
export async function checkFetchInstance(context: CheckContext, ids: CheckedInstance): Promise<void> {
  const { report, plan } = context;
  if (!plan.instancesRetrievable) {
    report.skip("the offering does not declare instances_retrievable", ...fetchRules, "update-unchanged");
    return;
  }
  await fetchInstance(context, ids, plan.planId);
  const unknown = { instanceId: context.newId() };
  const missing = await context.send({ method: "GET", path: pathOf(unknown) });
  report.expect("fetch-instance-missing", missing, missing.status === 404, "the status is not 404");
}

/** Fetches and tests the answer. */
async function fetchInstance(context: CheckContext, ids: CheckedInstance, planId: string): Promise<Exchange> {
  const { report, plan } = context;
  const query = planFields({ ...plan, planId });
  const fetched = await context.send({ method: "GET", path: pathOf(ids), query });
  const isThere = fetched.status === 200 && isObject(fetched.body);
  report.expect("fetch-instance", fetched, isThere, "the status is not 200 or the body no object");
  if (!isThere) return fetched;
  const { service_id: service, parameters } = objectOf(fetched.body);
  const isRight =
    isOptional(service, (id) => id === plan.serviceId) &&
    isOptional(planOf(fetched), (id) => id === planId) &&
    isOptional(parameters, isObject);
  report.expect("fetch-instance-fields", fetched, isRight, "one of them is another");
  return fetched;
}

function planOf({ body }: Exchange): unknown {
  return objectOf(body)["plan_id"];
}

/** Gives back the plan that the instance has at the end. A text says why the instance cannot be used any more. */
export async function checkUpdate(
  context: CheckContext,
  ids: CheckedInstance,
): Promise<{ readonly planId: string } | string> {
  const { report, plan } = context;
  const { planId } = plan;
  const before = plan.instancesRetrievable
    ? await context.send({ method: "GET", path: pathOf(ids) })
    : undefined;
  const refused = await update(context, ids, { plan_id: planId }, incomplete);
  report.expect("update-service-id", refused, refused.status === 400, "the status is not 400");
  if (before !== undefined && refused.status >= 400 && refused.status < 500) {
    const after = await context.send({ method: "GET", path: pathOf(ids) });
    const isSame = JSON.stringify(after.body) === JSON.stringify(before.body);
    report.expect("update-unchanged", after, isSame, "the instance is another than before");
  }

  const same = { ...planFields(plan), context: { platform: "kubernetes" } };
  const synchronous = await update(context, ids, same, {});
  if (isUnsupported(synchronous))
    report.skip(`the broker does not support this update: ${synchronous.came}`, "update-async-required");
  else expectAsyncRequired(context, "update-async-required", synchronous, [200]);
  const begun = await endOf(context, ids, synchronous, planId);
  if (begun !== undefined) return begun;

  const failed = await checkAccepted(context, ids, same);
  if (failed !== undefined) return failed;
  return checkPlanChange(context, ids);
}

/** 422 with another error than that the request needs `accepts_incomplete`. */
function isUnsupported(exchange: Exchange): boolean {
  return exchange.status === 422 && !hasError(exchange, "AsyncRequired") && isObject(exchange.body);
}

function update(
  context: CheckContext,
  ids: CheckedInstance,
  body: RawRequest["body"],
  query: Readonly<Record<string, string>>,
): Promise<Exchange> {
  return context.send({ method: "PATCH", path: pathOf(ids), query, body });
}

/** An update that changes nothing: it may be done at once, take time, or not be supported. */
async function checkAccepted(
  context: CheckContext,
  ids: CheckedInstance,
  body: Readonly<Record<string, unknown>>,
): Promise<string | undefined> {
  const { report, plan } = context;
  const updated = await update(context, ids, body, incomplete);
  expectAccepted(context, updated);
  if (updated.status !== 202) {
    report.skip("the broker updates at once", "update-resent", "update-operation");
    return undefined;
  }
  const operation = operationOfBody(updated);
  const resent = await update(context, ids, body, incomplete);
  if (isRunning(await askOperation(context, ids, { operation, deletes: false }))) {
    if (resent.status === 422) expectConcurrency(context, resent, []);
    else {
      const isSame = resent.status === 202 && operationOfBody(resent) === operation;
      report.expect("update-resent", resent, isSame, "the status is not 202 or the operation another");
    }
    report.skip("the broker does not take the same update twice at once", "update-resent");
  } else report.skip("the update ended before it could be asked again", "update-resent");
  if (plan.instancesRetrievable) {
    const fetched = await context.send({ method: "GET", path: pathOf(ids) });
    if (isRunning(await askOperation(context, ids, { operation, deletes: false })))
      expectConcurrency(context, fetched, [200]);
  }
  return endOf(context, ids, updated, plan.planId);
}

function expectAccepted(context: CheckContext, updated: Exchange): void {
  const { status } = updated;
  const holds = status === 200 || status === 202 || isUnsupported(updated);
  context.report.expect("update-accepted", updated, holds, "the status is none of these");
  expectOperation(context, "update-operation", updated);
}

/** Waits for an update that takes time. A text says that it failed. */
async function endOf(
  context: CheckContext,
  ids: CheckedInstance,
  accepted: Exchange,
  planId: string,
): Promise<string | undefined> {
  if (accepted.status !== 202) return undefined;
  const operation = operationOfBody(accepted);
  const end = await untilEnded(context, ids, { operation, planId, deletes: false });
  if (end.kind === "succeeded") return undefined;
  return `the update did not succeed: ${end.kind === "failed" ? end.description : "the instance is gone"}`;
}

async function checkPlanChange(
  context: CheckContext,
  ids: CheckedInstance,
): Promise<{ readonly planId: string } | string> {
  const { report, plan, ledger } = context;
  const { planId, otherPlanId } = plan;
  if (!plan.planUpdateable || otherPlanId === undefined || !plan.instancesRetrievable) {
    report.skip("it needs plan_updateable, another plan and instances_retrievable", "update-plan");
    return { planId };
  }
  const body = {
    ...planFields({ ...plan, planId: otherPlanId }),
    context: { platform: "kubernetes" },
    previous_values: { plan_id: planId },
  };
  const changed = await update(context, ids, body, incomplete);
  expectAccepted(context, changed);
  if (changed.status !== 200 && changed.status !== 202) {
    report.skip(`the broker does not support this change: ${changed.came}`, "update-plan");
    return { planId };
  }
  ledger.changedPlan(ids, otherPlanId);
  const failed = await endOf(context, ids, changed, planId);
  if (failed !== undefined) return failed;
  const fetched = await fetchInstance(context, ids, otherPlanId);
  const hasPlan = isOptional(planOf(fetched), (id) => id === otherPlanId);
  report.expect("update-plan", fetched, hasPlan, "plan_id is another");
  return { planId: otherPlanId };
}
