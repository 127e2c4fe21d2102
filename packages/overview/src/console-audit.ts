/**
 * Reads the console's audit rows out of Events and Grants. No I/O.
 *
 * An Event is the backend's if its source says so, it is about the Tenant of its own namespace, by the UID, and no account of an app cluster may
 * write Events there. Nothing in an Event proves who wrote it: the namespace does (designs/0030).
 */
import { crdNameOf, displayName, type Grant, plainText, type Tenant, tenantName, tenants } from "@klutch/api";
import { type DynamicObject, type KubeObject, recordAt, textAt, wholeSeconds } from "@klutch/kube-core";
import type { AuditRow } from "./console-wire.ts";

/** Component by which the backend signs Events on Tenants. */
export const auditComponent = "klutch-backend";

/** Field selector of these Events. The API server compares texts that the writer chose, so `auditEvent` still checks. */
export const auditSelector: string = `involvedObject.kind=${tenants.kind},source=${auditComponent}`;

/** Most Events of one tenant that are shown, the newest ones. */
const mostOfTenant = 200;
const [wordLimit, textLimit] = [100, 400];
const isReason = /^[A-Za-z][A-Za-z0-9]{0,63}$/;

/** An Event as far as its row depends on it. */
export interface AuditEvent {
  readonly metadata: Pick<KubeObject["metadata"], "namespace" | "name" | "uid" | "resourceVersion">;
  /** UID of the Tenant that it is about; undefined of an Event in a form that the backend does not write. */
  readonly tenantUid: string | undefined;
  /** By the clock of the API server, in seconds. */
  readonly at: string;
  readonly reason: string;
  readonly says: string;
}

/** Reads the Event. */
export function auditEvent(event: DynamicObject): AuditEvent {
  const { namespace, name, uid, resourceVersion, creationTimestamp } = event.metadata;
  const at = Date.parse(creationTimestamp ?? "");
  const reason = textAt(event, "reason") ?? "";
  const about = recordAt(event, "involvedObject");
  const isOurs =
    textAt(event, "source", "component") === auditComponent &&
    about["kind"] === tenants.kind &&
    about["name"] === tenantName &&
    about["namespace"] === namespace &&
    isReason.test(reason) &&
    !Number.isNaN(at);
  return {
    metadata: { namespace, name, uid, resourceVersion },
    tenantUid: isOurs ? textAt(event, "involvedObject", "uid") : undefined,
    at: isOurs ? wholeSeconds(at) : "",
    reason: isOurs ? reason : "",
    says: isOurs ? plainText(textAt(event, "message") ?? "", textLimit) : "",
  };
}

/**
 * Returns the newest Events of each tenant. `isOpen`: an account of an app cluster may write Events in this namespace, so those there prove nothing.
 */
export function trustedEvents(
  events: Iterable<AuditEvent>,
  tenantIn: (namespace: string) => Tenant | undefined,
  isOpen: (namespace: string) => boolean,
): readonly AuditEvent[] {
  const byTenant = new Map<string, AuditEvent[]>();
  for (const event of events) {
    const { namespace = "" } = event.metadata;
    if (event.tenantUid === undefined || event.tenantUid !== tenantIn(namespace)?.metadata.uid) continue;
    if (isOpen(namespace)) continue;
    const known = byTenant.get(namespace);
    if (known === undefined) byTenant.set(namespace, [event]);
    else known.push(event);
  }
  return [...byTenant.values()].flatMap((known) => known.toSorted(newerFirst).slice(0, mostOfTenant));
}

function newerFirst(one: AuditEvent, other: AuditEvent): number {
  if (one.at !== other.at) return one.at < other.at ? 1 : -1;
  return (one.metadata.name ?? "") < (other.metadata.name ?? "") ? -1 : 1;
}

/** Beginning of the ids of rows that a Grant says; who may not list Grants sees none of other tenants. */
export const grantPrefix = "grants/";

/** Returns the row of an Event. */
export function eventRow({ metadata, at, reason, says }: AuditEvent): AuditRow {
  const { namespace = "", name = "" } = metadata;
  return { id: `events/${namespace}/${name}`, tenant: namespace, at, reason, says };
}

/** Returns the row of a Grant, which outlives Events; undefined without a readable time. */
export function grantedRow({ metadata, spec }: Grant): AuditRow | undefined {
  const { namespace = "", name = "" } = metadata;
  const { identity, api, way, boundAt } = spec;
  const at = Date.parse(boundAt);
  if (Number.isNaN(at)) return undefined;
  const who = displayName(identity.displayName) ?? plainText(identity.user ?? "", wordLimit);
  const what = plainText(crdNameOf(api), wordLimit);
  return {
    id: `${grantPrefix}${namespace}/${name}`,
    tenant: namespace,
    at: wholeSeconds(at),
    reason: "Granted",
    says: `${who} holds a Grant for ${what}, by the way ${plainText(way ?? "", wordLimit)}`,
  };
}
