/** Unbinding. */
import {
  type CheckContext,
  expectAsyncRequired,
  expectOperation,
  incomplete,
  operationOfBody,
  pathOf,
  planFields,
  untilEnded,
} from "../context.ts";
import type { LedgerIds } from "../ledger.ts";

export async function checkRefusedUnbinds(context: CheckContext, binding: LedgerIds): Promise<void> {
  const { service_id, plan_id } = planFields(context.plan);
  const cases = [
    ["unbind-service-id", { plan_id }],
    ["unbind-plan-id", { service_id }],
  ] as const;
  for (const [rule, missing] of cases) {
    const query = { ...incomplete, ...missing };
    const refused = await context.send({ method: "DELETE", path: pathOf(binding), query });
    context.report.expect(rule, refused, refused.status === 400, "the status is not 400");
  }
}

/** Without `accepts_incomplete`. True when the binding is gone by that. */
export async function checkSynchronousUnbind(context: CheckContext, binding: LedgerIds): Promise<boolean> {
  const query = planFields(context.plan);
  const deleted = await context.send({ method: "DELETE", path: pathOf(binding), query });
  expectAsyncRequired(context, "unbind-async-required", deleted, [200]);
  if (deleted.status !== 200) return false;
  context.ledger.gone(binding);
  return true;
}

/** A text says why not everything could be tested. */
export async function checkUnbind(
  context: CheckContext,
  binding: LedgerIds,
  { isGone = false }: { readonly isGone?: boolean } = {},
): Promise<string | undefined> {
  const { report, plan } = context;
  const query = { ...incomplete, ...planFields(plan) };
  const request = { method: "DELETE", path: pathOf(binding), query } as const;
  if (isGone) report.skip("the broker unbinds at once", "unbind-accepted", "unbind-operation");
  else {
    const deleted = await context.send(request);
    const isAccepted = deleted.status === 200 || deleted.status === 202;
    report.expect("unbind-accepted", deleted, isAccepted, "the status is neither 200 nor 202");
    if (!isAccepted) return `the binding could not be deleted: ${deleted.came}`;
    if (deleted.status === 200) report.skip("the broker unbinds at once", "unbind-operation");
    else {
      expectOperation(context, "unbind-operation", deleted);
      const end = await untilEnded(context, binding, { operation: operationOfBody(deleted), deletes: true });
      if (end.kind === "failed") return `the binding could not be deleted: ${end.description}`;
    }
  }
  const again = await context.send(request);
  report.expect("unbind-gone", again, again.status === 410, "the status is not 410");
  if (plan.bindingsRetrievable) {
    const fetched = await context.send({ method: "GET", path: pathOf(binding) });
    report.expect("fetch-binding-missing", fetched, fetched.status === 404, "the status is not 404");
  }
  if (again.status === 410) context.ledger.gone(binding);
  return undefined;
}
