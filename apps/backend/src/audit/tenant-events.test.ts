/** Events on Tenants, with a recorder that only remembers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Tenant } from "@klutch/api";
import type { Change } from "@klutch/kube-runtime";
import type { AuditRecord } from "./audit.ts";
import { tellTenants } from "./tenant-events.ts";

function start(present: boolean) {
  const told: string[] = [];
  const audited: AuditRecord[] = [];
  const handlers: ((change: Change<Tenant>) => void)[] = [];
  const made = {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "Tenant",
    metadata: { namespace: "cluster-a", name: "tenant", uid: "7" },
    spec: {},
  } as Tenant;
  let tenant = present ? made : undefined;
  const note =
    (type: string) =>
    (about: { readonly metadata: { readonly uid?: string } }, reason: string, message: string): void =>
      void told.push(`${about.metadata.uid} ${type} ${reason}: ${message}`);
  const audit = tellTenants({
    audit: { record: (record) => void audited.push(record) },
    tenants: {
      get: () => tenant,
      onChange: (handler: (change: Change<Tenant>) => void) => {
        handlers.push(handler);
        return { [Symbol.dispose]: () => undefined };
      },
    } as never,
    events: { recordRoutine: note("Normal"), recordWarning: note("Warning") } as never,
  });
  const appear = (): void => {
    tenant = made;
    for (const handler of handlers)
      handler({ type: "added", key: "cluster-a/tenant", object: made } as never);
  };
  return { audit, told, audited, appear };
}

const apis = [{ group: "example.org", resource: "databases" }];
const bound: AuditRecord = {
  decision: "bind",
  allowed: true,
  outcome: "Allowed",
  asker: { user: "oidc:ann", subject: "ann" },
  tenant: "cluster-a",
  apis,
};

test("decisions about an app cluster are told on its Tenant, and all are in the audit log", () => {
  const { audit, told, audited } = start(true);
  audit.record(bound);
  audit.record({ ...bound, decision: "addMember", outcome: "Joined", apis: [] });
  audit.record({ ...bound, decision: "acceptClaims", permissionClaims: ["secrets"], asker: undefined });
  audit.record({ ...bound, decision: "revoke", outcome: "ApiRevoked" });
  audit.record({
    ...bound,
    decision: "export",
    allowed: false,
    outcome: "NotAllowed",
    detail: "no one bound it",
    asker: undefined,
  });
  audit.record({ ...bound, decision: "renew", outcome: "Renewed" });
  audit.record({ ...bound, tenant: undefined });
  assert.deepEqual(told, [
    "7 Normal Bound: oidc:ann bound databases.example.org",
    "7 Normal MemberAdded: oidc:ann may act for this app cluster now",
    "7 Normal ClaimsAccepted: accepted for databases.example.org: secrets",
    "7 Normal AccessRevoked: the Grant of oidc:ann for databases.example.org was deleted",
    "7 Warning AccessRefused: the app cluster got no databases.example.org: no one bound it",
  ]);
  assert.equal(audited.length, 7);
});

test("decisions from before the Tenant exists are told when it does, and a flood of it is bounded", () => {
  const { audit, told, audited, appear } = start(false);
  for (let index = 0; index < 1_000; index++) audit.record(bound);
  for (let index = 0; index < 2_000; index++) audit.record({ ...bound, tenant: `cluster-${index}` });
  assert.deepEqual(told, []);
  appear();
  assert.equal(told.length, 20);
  appear();
  assert.equal(told.length, 20, "once");
  assert.equal(audited.length, 3_000);
});
