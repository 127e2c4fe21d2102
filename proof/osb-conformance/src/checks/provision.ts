/** Provisioning: refusals first, then an instance that the other checks use. */
import { isOptional, objectOf } from "@klutch/osb/internal";
import {
  askOperation,
  type CheckContext,
  create,
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
import type { LedgerIds } from "../ledger.ts";
import type { RuleId } from "../rules.ts";

/** The instance that the later checks use. */
export interface CheckedInstance extends LedgerIds {
  readonly bindingId?: undefined;
}

/** The body of a good provision. */
function goodBody({ plan, wishes }: CheckContext): Readonly<Record<string, unknown>> {
  const { organizationGuid, spaceGuid, parameters } = wishes;
  return {
    ...planFields(plan),
    organization_guid: organizationGuid,
    space_guid: spaceGuid,
    context: { platform: "kubernetes", organization_guid: organizationGuid, space_guid: spaceGuid },
    ...(parameters === undefined ? {} : { parameters }),
  };
}

/** Sends what must be refused, and looks whether it left something. */
export async function checkRefusedProvisions(context: CheckContext): Promise<void> {
  const good = goodBody(context);
  const { service_id: _service, ...noService } = good;
  const { plan_id: _plan, ...noPlan } = good;
  const { organization_guid: _organization, ...noOrganization } = good;
  const { space_guid: _space, ...noSpace } = good;
  const cases: readonly (readonly [RuleId, RawRequest["body"]])[] = [
    ["provision-service-id", noService],
    ["provision-plan-id", noPlan],
    ["provision-organization", noOrganization],
    ["provision-space", noSpace],
    ["provision-unknown-plan", { ...good, plan_id: context.newId() }],
    ["body-malformed", '{"service_id":'],
  ];
  for (const [rule, body] of cases) {
    const ids = { instanceId: context.newId() };
    const refused = await create(context, ids, body);
    context.report.expect(rule, refused, refused.status === 400, "the status is not 400");
    if (refused.status >= 400 && refused.status < 500) await expectNothingLeft(context, ids);
  }
}

/** After a refusal: a deprovision must find nothing. */
async function expectNothingLeft(context: CheckContext, ids: CheckedInstance): Promise<void> {
  const query = { ...incomplete, ...planFields(context.plan) };
  const asked = await context.send({ method: "DELETE", path: pathOf(ids), query });
  const { status } = asked;
  context.report.expect("deprovision-gone", asked, status === 410, "the status is not 410");
  const isLeft = status === 200 || status === 202;
  context.report.expect("error-unchanged", asked, !isLeft, "the refused instance was there to be deleted");
  if (isLeft) context.ledger.answered(ids, status);
  else if (status >= 400 && status < 500) context.ledger.gone(ids);
}

/** Without `accepts_incomplete`: what is made at once is deleted at the end with everything else. */
export async function checkSynchronousProvision(context: CheckContext): Promise<void> {
  const ids = { instanceId: context.newId() };
  const made = await create(context, ids, goodBody(context), {});
  expectAsyncRequired(context, "provision-async-required", made, [200, 201]);
}

/** Provisions the instance of the later checks. A text says why there is none. */
export async function checkProvision(context: CheckContext): Promise<CheckedInstance | string> {
  const { report } = context;
  const ids: CheckedInstance = { instanceId: context.newId() };
  const first = await create(context, ids, goodBody(context));
  const isAccepted = first.status === 201 || first.status === 202;
  report.expect("provision-accepted", first, isAccepted, "the status is neither 201 nor 202");
  if (isAccepted) {
    expectOperation(context, "provision-operation", first);
    const dashboard = objectOf(first.body)["dashboard_url"];
    const isUrl = isOptional(dashboard, (value) => value === null || typeof value === "string");
    report.expect("provision-dashboard", first, isUrl, "dashboard_url is something else");
  }
  if (first.status === 202) {
    const operation = operationOfBody(first);
    await checkWhileProvisioning(context, ids, operation);
    const end = await untilEnded(context, ids, { operation, deletes: false });
    if (end.kind !== "succeeded")
      return `the instance was not provisioned: ${end.kind === "failed" ? end.description : "it is gone"}`;
  } else {
    report.skip(
      "the broker provisions at once",
      "provision-resent",
      "fetch-instance-provisioning",
      "provision-operation",
    );
    if (first.status !== 200 && first.status !== 201)
      return `the instance was not provisioned: ${first.came}`;
  }
  await checkProvisionAgain(context, ids);
  return ids;
}

/** Each answer counts only when the operation is seen to go on after it: before, it may have ended unseen. */
async function checkWhileProvisioning(
  context: CheckContext,
  ids: CheckedInstance,
  operation: unknown,
): Promise<void> {
  const { report, plan } = context;
  const resent = await create(context, ids, goodBody(context));
  if (isRunning(await askOperation(context, ids, { operation, deletes: false }))) {
    const isSame = resent.status === 202 && operationOfBody(resent) === operation;
    const why = resent.status === 202 ? "the operation is another" : "the status is not 202";
    report.expect("provision-resent", resent, isSame, why);
  } else report.skip("provisioning ended before it could be asked again", "provision-resent");

  if (plan.instancesRetrievable) {
    const fetched = await context.send({ method: "GET", path: pathOf(ids) });
    if (isRunning(await askOperation(context, ids, { operation, deletes: false })))
      report.expect("fetch-instance-provisioning", fetched, fetched.status === 404, "the status is not 404");
    else report.skip("provisioning ended before it could be fetched", "fetch-instance-provisioning");
  }

  const body = { ...planFields(plan), context: { platform: "kubernetes" } };
  const updated = await context.send({ method: "PATCH", path: pathOf(ids), query: incomplete, body });
  if (isRunning(await askOperation(context, ids, { operation, deletes: false })))
    expectConcurrency(context, updated, [200, 202]);
}

/** What cannot be done during another operation is refused by the code for that. */
export function expectConcurrency(
  context: CheckContext,
  exchange: Exchange,
  possible: readonly number[],
): void {
  const { status } = exchange;
  const holds = possible.includes(status) || (status === 422 && hasError(exchange, "ConcurrencyError"));
  const why = status === 422 ? "the error is not ConcurrencyError" : "the status is not 422";
  context.report.expect("concurrency-error", exchange, holds, why);
}

/** The instance is there. */
async function checkProvisionAgain(context: CheckContext, ids: CheckedInstance): Promise<void> {
  const { report, plan } = context;
  const again = await create(context, ids, goodBody(context));
  report.expect("provision-again", again, again.status === 200, "the status is not 200");

  const more = { ...goodBody(context), "x-osb-check": { unknown: [true] } };
  const extended = await create(context, ids, more);
  const isIgnored = extended.status === again.status;
  report.expect("extension-fields", extended, isIgnored, "the answer is another than without it");

  if (plan.otherPlanId === undefined) {
    report.skip("the offering has no other plan", "provision-conflict");
    return;
  }
  const other = { ...goodBody(context), plan_id: plan.otherPlanId };
  const conflict = await create(context, ids, other);
  report.expect("provision-conflict", conflict, conflict.status === 409, "the status is not 409");
}
