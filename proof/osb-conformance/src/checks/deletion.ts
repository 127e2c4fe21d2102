/** Deprovisioning an instance and deleting a binding: the same rules hold for both. */
import { type CheckContext, incomplete, operationOf, planFields } from "../context.ts";
import type { Exchange } from "../exchange.ts";
import type { LedgerIds } from "../ledger.ts";

/** Rules that only a deletion which takes time can show. */
const timedRules = {
  unbind: ["unbind-accepted", "unbind-operation"],
  deprovision: ["deprovision-accepted", "deprovision-operation", "deprovision-resent"],
} as const;

/**
 * Deletes the instance, which has the context's plan and no bindings, or the binding. `spare` is another one for the deletion without
 * `accepts_incomplete`. A returned text explains why not everything could be tested.
 */
export async function checkDeletion(
  context: CheckContext,
  ids: LedgerIds,
  spare?: LedgerIds,
): Promise<string | undefined> {
  const { report, plan } = context.parts;
  const verb = ids.bindingId === undefined ? "deprovision" : "unbind";
  const { service_id, plan_id } = planFields(plan);
  const noService = await context.remove(ids, { ...incomplete, plan_id });
  context.expectStatus(`${verb}-service-id`, noService, 400);
  const noPlan = await context.remove(ids, { ...incomplete, service_id });
  context.expectStatus(`${verb}-plan-id`, noPlan, 400);
  const synchronous = await context.remove(spare ?? ids, { service_id, plan_id });
  context.expectAsyncRequired(`${verb}-async-required`, synchronous, [200]);
  if (spare !== undefined || synchronous.status !== 200) {
    const isBegun = spare === undefined && synchronous.status === 202;
    const accepted = isBegun ? synchronous : await context.remove(ids);
    const failure = await checkAccepted(context, ids, accepted);
    const what = ids.bindingId === undefined ? "instance" : "binding";
    if (failure !== undefined) return `the ${what} could not be deleted: ${failure}`;
  }
  report.skip(`the broker deletes at once`, ...timedRules[verb]);
  await expectGone(context, ids);
  return undefined;
}

/** Waits for the end. A text says why there is none. */
async function checkAccepted(
  context: CheckContext,
  ids: LedgerIds,
  accepted: Exchange,
): Promise<string | undefined> {
  const verb = ids.bindingId === undefined ? "deprovision" : "unbind";
  if (!context.expectStatus(`${verb}-accepted`, accepted, 200, 202)) return accepted.came;
  if (accepted.status === 200) return undefined;
  context.expectOperation(`${verb}-operation`, accepted);
  const operation = operationOf(ids, accepted, true);
  if (verb === "deprovision") {
    const resent = await context.remove(ids);
    await context.expectResent("deprovision-resent", operation, resent, true);
  }
  return context.failureOf(operation);
}

async function expectGone(context: CheckContext, ids: LedgerIds): Promise<void> {
  const { plan, ledger } = context.parts;
  const isInstance = ids.bindingId === undefined;
  const again = await context.remove(ids);
  context.expectStatus(isInstance ? "deprovision-gone" : "unbind-gone", again, 410);
  if (isInstance ? plan.instancesRetrievable : plan.bindingsRetrievable) {
    const fetched = await context.fetch(ids);
    context.expectStatus(isInstance ? "fetch-instance-missing" : "fetch-binding-missing", fetched, 404);
  }
  if (again.status === 410) ledger.gone(ids);
}
