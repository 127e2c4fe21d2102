/** `klutch members`: the people of each tenant, and what they bound. */
import type { CliContext } from "../context.ts";
import type { CommonOptions } from "../options.ts";
import { columns } from "../output.ts";
import { connectControlPlane } from "../service/control-plane.ts";
import { peopleOf, readTenants, requireTenant } from "./read.ts";

/** Prints a table, or JSON. */
export async function members(
  context: CliContext,
  name: string | undefined,
  options: CommonOptions,
): Promise<void> {
  await using cluster = await connectControlPlane(options);
  const all = await readTenants(context, cluster);
  const tenants = name === undefined ? all : [requireTenant(all, name)];
  const rows = tenants.map((tenant) => ({
    tenant: tenant.name,
    cluster: tenant.cluster,
    people: peopleOf(tenant),
  }));
  if (options.output === "json") {
    context.terminal.out(`${JSON.stringify({ tenants: rows }, null, 2)}\n`);
    return;
  }
  const header = ["TENANT", "CLUSTER", "USER", "PERSON", "SINCE", "LAST BOUND", "APIS"];
  const cells = rows.flatMap(({ tenant, cluster: place, people }) =>
    people.map((person) => [
      tenant,
      place,
      // Without a Grant only the identity provider's own name is known.
      person.user === "" ? person.subject : person.user,
      person.displayName,
      person.since,
      person.lastBound,
      person.apis.join(", "),
    ]),
  );
  if (cells.length === 0) context.terminal.say("No person has bound an API here.");
  else context.terminal.out(columns([header, ...cells]));
}
