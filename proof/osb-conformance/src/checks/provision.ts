/** Provisioning: refusals first, then an instance that the other checks use. */
import { isOptional, objectOf } from "@klutch/osb/internal";
import {
  type CheckContext,
  create,
  expectAsyncRequired,
  expectConcurrency,
  expectOperation,
  expectResent,
  expectStatus,
  failureOf,
  goesOn,
  incomplete,
  type Operation,
  operationOf,
  pathOf,
  planFields,
} from "../context.ts";
import type { RawRequest } from "../exchange.ts";
import type { LedgerIds } from "../ledger.ts";
import type { RuleId } from "../rules.ts";

/** The body of a good provision. */
function goodBody({ plan, wishes }: CheckContext): Readonly<Record<string, unknown>> {
  const { organizationGuid: organization_guid, spaceGuid: space_guid, parameters } = wishes;
  const context = { platform: "kubernetes", organization_guid, space_guid };
  return { ...planFields(plan), organization_guid, space_guid, context, parameters };
}

/** Sends what must be refused, and looks whether it left something. */
export async function checkRefusedProvisions(context: CheckContext): Promise<void> {
  const good = goodBody(context);
  const cases: readonly (readonly [RuleId, RawRequest["body"]])[] = [
    ["provision-service-id", { ...good, service_id: undefined }],
    ["provision-plan-id", { ...good, plan_id: undefined }],
    ["provision-organization", { ...good, organization_guid: undefined }],
    ["provision-space", { ...good, space_guid: undefined }],
    ["provision-unknown-plan", { ...good, plan_id: context.newId() }],
    ["body-malformed", '{"service_id":'],
  ];
  for (const [rule, body] of cases) {
    const ids = { instanceId: context.newId() };
    const refused = await create(context, ids, body);
    expectStatus(context, rule, refused, 400);
    if (refused.status >= 400 && refused.status < 500) await expectNothingLeft(context, ids);
  }
}

/** Tests that a deprovision finds nothing after a refusal. */
async function expectNothingLeft(context: CheckContext, ids: LedgerIds): Promise<void> {
  const query = { ...incomplete, ...planFields(context.plan) };
  const asked = await context.send({ method: "DELETE", path: pathOf(ids), query });
  const { status } = asked;
  expectStatus(context, "deprovision-gone", asked, 410);
  const isLeft = status === 200 || status === 202;
  context.report.expect("error-unchanged", asked, !isLeft, "the refused instance was there to be deleted");
  if (isLeft) context.ledger.answered(ids, status);
  else if (status >= 400 && status < 500) context.ledger.gone(ids);
}

/** Provisions without `accepts_incomplete`; an instance made at once is deleted at the end with everything else. */
export async function checkSynchronousProvision(context: CheckContext): Promise<void> {
  const made = await create(context, { instanceId: context.newId() }, goodBody(context), {});
  expectAsyncRequired(context, "provision-async-required", made, [200, 201]);
}

/** Provisions the instance of the later checks. A text says why there is none. */
export async function checkProvision(context: CheckContext): Promise<LedgerIds | string> {
  const { report } = context;
  const ids = { instanceId: context.newId() };
  const first = await create(context, ids, goodBody(context));
  if (expectStatus(context, "provision-accepted", first, 201, 202)) {
    expectOperation(context, "provision-operation", first);
    const dashboard = objectOf(first.body)["dashboard_url"];
    const isUrl = isOptional(dashboard, (value) => value === null || typeof value === "string");
    report.expect("provision-dashboard", first, isUrl, "dashboard_url is something else");
  }
  if (first.status === 202) {
    const operation = operationOf(ids, first, false);
    await checkWhileProvisioning(context, operation);
    const failure = await failureOf(context, operation);
    if (failure !== undefined) return `the instance was not provisioned: ${failure}`;
  } else {
    const rules = ["provision-resent", "fetch-instance-provisioning", "provision-operation"] as const;
    report.skip("the broker provisions at once", ...rules);
    if (first.status !== 200 && first.status !== 201)
      return `the instance was not provisioned: ${first.came}`;
  }
  await checkProvisionAgain(context, ids);
  return ids;
}

async function checkWhileProvisioning(context: CheckContext, operation: Operation): Promise<void> {
  const { report, plan } = context;
  const { ids } = operation;
  const resent = await create(context, ids, goodBody(context));
  await expectResent(context, "provision-resent", operation, resent);

  if (plan.instancesRetrievable) {
    const fetched = await context.send({ method: "GET", path: pathOf(ids) });
    if (await goesOn(context, operation)) expectStatus(context, "fetch-instance-provisioning", fetched, 404);
    else report.skip("provisioning ended before it could be fetched", "fetch-instance-provisioning");
  }

  const body = { ...planFields(plan), context: { platform: "kubernetes" } };
  const updated = await context.send({ method: "PATCH", path: pathOf(ids), query: incomplete, body });
  if (await goesOn(context, operation)) expectConcurrency(context, updated, [200, 202]);
}

/** The instance is there. */
async function checkProvisionAgain(context: CheckContext, ids: LedgerIds): Promise<void> {
  const { report, plan } = context;
  const again = await create(context, ids, goodBody(context));
  expectStatus(context, "provision-again", again, 200);

  const more = { ...goodBody(context), "x-osb-check": { unknown: [true] } };
  const extended = await create(context, ids, more);
  const isIgnored = extended.status === again.status;
  report.expect("extension-fields", extended, isIgnored, "the answer is another than without it");

  if (plan.otherPlanId === undefined) {
    report.skip("the offering has no other plan", "provision-conflict");
    return;
  }
  const conflict = await create(context, ids, { ...goodBody(context), plan_id: plan.otherPlanId });
  expectStatus(context, "provision-conflict", conflict, 409);
}
