/** Deprovisioning the instance of the checks. */
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
import type { Exchange } from "../exchange.ts";
import type { CheckedInstance } from "./provision.ts";

/** The instance has the context's plan and no bindings. A text says why not everything could be tested. */
export async function checkDeprovision(
  context: CheckContext,
  ids: CheckedInstance,
): Promise<string | undefined> {
  const { report, plan } = context;
  const { service_id, plan_id } = planFields(plan);
  await checkRefusals(context, ids);
  const synchronous = await remove(context, ids, { service_id, plan_id });
  expectAsyncRequired(context, "deprovision-async-required", synchronous, [200]);
  if (synchronous.status === 200) {
    report.skip(
      "the broker deprovisions at once",
      "deprovision-accepted",
      "deprovision-operation",
      "deprovision-resent",
    );
    return expectGone(context, ids);
  }
  const accepted =
    synchronous.status === 202
      ? synchronous
      : await remove(context, ids, { ...incomplete, service_id, plan_id });
  const isAccepted = accepted.status === 200 || accepted.status === 202;
  report.expect("deprovision-accepted", accepted, isAccepted, "the status is neither 200 nor 202");
  if (!isAccepted) return `the instance could not be deleted: ${accepted.came}`;
  expectOperation(context, "deprovision-operation", accepted);
  if (accepted.status === 202) {
    const operation = operationOfBody(accepted);
    await checkResent(context, ids, operation);
    const end = await untilEnded(context, ids, { operation, deletes: true });
    if (end.kind === "failed") return `the instance could not be deleted: ${end.description}`;
  } else report.skip("the broker deprovisions at once", "deprovision-operation", "deprovision-resent");
  return expectGone(context, ids);
}

async function checkRefusals(context: CheckContext, ids: CheckedInstance): Promise<void> {
  const { service_id, plan_id } = planFields(context.plan);
  const cases = [
    ["deprovision-service-id", { plan_id }],
    ["deprovision-plan-id", { service_id }],
  ] as const;
  for (const [rule, query] of cases) {
    const refused = await remove(context, ids, { ...incomplete, ...query });
    context.report.expect(rule, refused, refused.status === 400, "the status is not 400");
  }
}

function remove(
  context: CheckContext,
  ids: CheckedInstance,
  query: Readonly<Record<string, string>>,
): Promise<Exchange> {
  return context.send({ method: "DELETE", path: pathOf(ids), query });
}

/** Counts only when the operation is seen to go on after it. */
async function checkResent(context: CheckContext, ids: CheckedInstance, operation: unknown): Promise<void> {
  const { report, plan } = context;
  const resent = await remove(context, ids, { ...incomplete, ...planFields(plan) });
  if (isRunning(await askOperation(context, ids, { operation, deletes: true }))) {
    const isSame = resent.status === 202 && operationOfBody(resent) === operation;
    const isBusy = resent.status === 422 && hasError(resent, "ConcurrencyError");
    report.expect("deprovision-resent", resent, isSame || isBusy, "the status or the operation is another");
  } else report.skip("deprovisioning ended before it could be asked again", "deprovision-resent");
}

async function expectGone(context: CheckContext, ids: CheckedInstance): Promise<undefined> {
  const { report, plan, ledger } = context;
  const again = await remove(context, ids, { ...incomplete, ...planFields(plan) });
  report.expect("deprovision-gone", again, again.status === 410, "the status is not 410");
  if (plan.instancesRetrievable) {
    const fetched = await context.send({ method: "GET", path: pathOf(ids) });
    report.expect("fetch-instance-missing", fetched, fetched.status === 404, "the status is not 404");
  }
  if (again.status === 410) ledger.gone(ids);
  return undefined;
}
