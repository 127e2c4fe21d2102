/**
 * Tells decisions about access as Events on the Tenant, where `kubectl describe tenant` shows them. They are for people, and some are left out when
 * there are many: the audit log is complete.
 */
import { crdNameOf, type Tenant, tenantName, tenants } from "@klutch/api";
import { apiVersionOf, type DynamicObject, keyOfRef } from "@klutch/kube-core";
import type { EventRecorder, Informer } from "@klutch/kube-runtime";
import type { Audit, AuditRecord } from "./audit.ts";

/** Parts of `tellTenants`. */
export interface TenantEventParts {
  readonly audit: Audit;
  readonly tenants: Pick<Informer<Tenant>, "get" | "onChange">;
  readonly events: Pick<EventRecorder, "recordRoutine" | "recordWarning">;
}

/** A Tenant is made some seconds after the first decision about it. Limits of tenants, and of decisions about one, that wait. */
const mostWaiting = 1_000;
const mostOfOne = 20;

/** Returns an audit that writes to `audit`, and tells the Tenant as well. */
export function tellTenants({ audit, tenants: cache, events }: TenantEventParts): Audit {
  const waiting = new Map<string, AuditRecord[]>();
  cache.onChange(({ object: { metadata }, type }) => {
    const { namespace = "", name } = metadata;
    if (type === "deleted" || name !== tenantName) return;
    const records = waiting.get(namespace) ?? [];
    waiting.delete(namespace);
    for (const record of records) tell(events, namespace, metadata.uid, record);
  });
  return {
    record(record) {
      audit.record(record);
      const { tenant: namespace } = record;
      if (namespace === undefined) return;
      const uid = cache.get(keyOfRef({ namespace, name: tenantName }))?.metadata.uid;
      if (uid !== undefined) return tell(events, namespace, uid, record);
      const records = waiting.get(namespace) ?? [];
      if (waiting.size >= mostWaiting || records.length >= mostOfOne) return;
      waiting.set(namespace, [...records, record]);
    },
  };
}

function tell(
  events: TenantEventParts["events"],
  namespace: string,
  uid: string | undefined,
  { decision, allowed, detail, asker, apis = [], permissionClaims = [] }: AuditRecord,
): void {
  const about: DynamicObject = {
    apiVersion: apiVersionOf(tenants),
    kind: tenants.kind,
    metadata: { namespace, name: tenantName, uid },
  };
  const who = asker?.user ?? asker?.subject ?? "the app cluster";
  const what = apis.map(({ group = "", resource }) => crdNameOf({ group, resource })).join(", ");
  if (!allowed) {
    if (decision === "bind" || decision === "export")
      events.recordWarning(about, "AccessRefused", `${who} got no ${what}: ${detail ?? "see the audit log"}`);
    return;
  }
  if (decision === "bind") events.recordRoutine(about, "Bound", `${who} bound ${what}`);
  if (decision === "addMember")
    events.recordRoutine(about, "MemberAdded", `${who} may act for this app cluster now`);
  if (decision === "acceptClaims")
    events.recordRoutine(
      about,
      "ClaimsAccepted",
      `accepted for ${what}: ${permissionClaims.join(", ") || "none"}`,
    );
  if (decision === "act") events.recordRoutine(about, "ConsoleAction", `${who} ${detail ?? "acted"}`);
  if (decision === "revoke")
    events.recordRoutine(about, "AccessRevoked", `the Grant of ${who} for ${what} was deleted`);
}
