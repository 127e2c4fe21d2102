/** `klutch audit`: who bound what for which app cluster, and the events there, newest first. The audit log of the backend has more (docs/reference/audit.md). */
import type { Grant } from "@klutch/api";
import { type DynamicObject, events, recordAt, textAt } from "@klutch/kube-core";
import type { CliContext } from "../context.ts";
import type { CommonOptions } from "../options.ts";
import { columns } from "../output.ts";
import { connectControlPlane } from "../service/control-plane.ts";
import { apiOf, listed, readTenants, requireTenant } from "./read.ts";

/** One thing that happened. */
interface Entry {
  /** RFC 3339; empty if the object does not say it. */
  readonly time: string;
  readonly tenant: string;
  readonly cluster: string;
  readonly what: string;
  /** Name in the control plane's RBAC. */
  readonly user?: string | undefined;
  readonly person?: string | undefined;
  readonly api?: string | undefined;
  readonly way?: string | undefined;
  readonly address?: string | undefined;
  readonly permissionClaims?: readonly string[] | undefined;
  readonly message?: string | undefined;
}

/** Prints a table, or JSON. */
export async function audit(
  context: CliContext,
  name: string | undefined,
  options: CommonOptions,
): Promise<void> {
  await using cluster = await connectControlPlane(options);
  const all = await readTenants(context, cluster);
  const tenants = name === undefined ? all : [requireTenant(all, name)];
  const places = new Map(tenants.map((tenant) => [tenant.name, tenant.cluster]));
  const seen = await listed<DynamicObject>(context, cluster, events, name);
  const entries = [
    ...tenants.flatMap((tenant) => tenant.grants.map((grant) => bindOf(grant, tenant.cluster))),
    ...seen.flatMap((event) => {
      const place = places.get(event.metadata.namespace ?? "");
      return place === undefined ? [] : [eventOf(event, place)];
    }),
  ].toSorted((one, other) => (one.time < other.time ? 1 : one.time > other.time ? -1 : 0));
  if (options.output === "json") {
    context.terminal.out(`${JSON.stringify({ entries }, null, 2)}\n`);
    return;
  }
  const header = ["TIME", "TENANT", "CLUSTER", "WHAT", "USER", "API", "WAY", "ADDRESS", "PERMISSION CLAIMS"];
  const cells = entries.map((entry) => [
    entry.time,
    entry.tenant,
    entry.cluster,
    entry.message === undefined ? entry.what : `${entry.what}: ${entry.message}`,
    entry.user ?? "",
    entry.api ?? "",
    entry.way ?? "",
    entry.address ?? "",
    (entry.permissionClaims ?? []).join(", "),
  ]);
  if (cells.length === 0) context.terminal.say("There is no Grant and no event of a tenant.");
  else context.terminal.out(columns([header, ...cells]));
}

function bindOf(grant: Grant, cluster: string): Entry {
  const { identity, boundAt: time, way, address, permissionClaims } = grant.spec;
  const { user, displayName: person } = identity;
  const tenant = grant.metadata.namespace ?? "";
  return {
    time,
    tenant,
    cluster,
    what: "bound",
    user,
    person,
    api: apiOf(grant),
    way,
    address,
    permissionClaims,
  };
}

function eventOf(event: DynamicObject, cluster: string): Entry {
  const { namespace: tenant = "", creationTimestamp = "" } = event.metadata;
  const time = textAt(event, "lastTimestamp") ?? textAt(event, "eventTime") ?? creationTimestamp;
  const { kind, name } = recordAt(event, "involvedObject");
  const what = `${textAt(event, "reason") ?? "event"} of ${String(kind)} ${String(name)}`;
  return { time, tenant, cluster, what, message: textAt(event, "message") };
}
