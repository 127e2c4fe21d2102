/** `klutch revoke member`: removes a person from all app clusters, with what they bound. */
import { createHash } from "node:crypto";
import { type Grant, grants, grantFinalizer } from "@klutch/api";
import { isConflict } from "@klutch/kube";
import {
  type DynamicObject,
  type KubeObject,
  listAt,
  namespaces,
  type ResourceType,
  textAt,
  wholeSeconds,
} from "@klutch/kube-core";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { counted } from "../findings.ts";
import { nearestNames } from "../nearest.ts";
import { connectControlPlane, type ControlPlane } from "../service/control-plane.ts";
import { withoutPerson } from "./people.ts";
import {
  apiOf,
  hintOf,
  isSame,
  peopleOf,
  type PersonOfTenant,
  readTenants,
  requireTenant,
  type Tenant,
  tenantText,
} from "./read.ts";
import { endGrants, isConfirmed, lastOnes, type RevokeOptions, untouched } from "./revoke.ts";

/** Flags of the command. */
export interface RevokeMemberOptions extends RevokeOptions {
  /** The only tenant to remove the person from. Default: all. */
  readonly tenant: string | undefined;
  /** Fate of APIs that only this person bound. Undefined: the command refuses while there are some. */
  readonly apis: "end" | "keep" | undefined;
}

/** A tenant with the person in it. */
interface Found {
  readonly tenant: Tenant;
  readonly person: PersonOfTenant;
  readonly own: readonly Grant[];
}

/** Each step can be repeated: Grants are handed over first, then those of the person end, then they are no member. */
export async function revokeMember(
  context: CliContext,
  who: string,
  options: RevokeMemberOptions,
): Promise<void> {
  await using cluster = await connectControlPlane(options);
  const all = await readTenants(context, cluster);
  const tenants = options.tenant === undefined ? all : [requireTenant(all, options.tenant)];
  const found = findPerson(tenants, who);
  const own = found.flatMap((one) => one.own);
  const last = lastOnes(
    tenants.flatMap((tenant) => tenant.grants),
    own,
  );
  if (last.length > 0 && options.apis === undefined) throw wouldEnd(who, found, last);
  if (!(await isConfirmed(context, stepsOf(who, found, last, options), options))) return;
  if (options.apis === "keep") await handOver(context, cluster, last);
  for (const { tenant, person } of found) await removePerson(context, cluster, tenant, person);
  await endGrants(context, cluster, own, options);
  context.terminal.say(
    `${who} is removed from ${counted(found.length, "app cluster")}. To keep them out of new ones, take their right to bind, or close their account at the identity provider.`,
  );
}

/** A user name in RBAC, or a subject. Names for people select no one: two people may have the same one. */
function findPerson(tenants: readonly Tenant[], who: string): readonly Found[] {
  const people = tenants.flatMap((tenant) => peopleOf(tenant).map((person) => ({ tenant, person })));
  const meant = people.filter(({ person }) => person.user === who || person.subject === who);
  if (meant.length === 0) {
    const words = new Map(
      people.flatMap(({ person }) => {
        const shown = `${person.user === "" ? person.subject : person.user}${person.displayName === "" ? "" : ` (${person.displayName})`}`;
        return [person.user, person.subject, person.displayName].map((word) => [word, shown] as const);
      }),
    );
    words.delete("");
    const nearest = nearestNames(who, words.keys()).map((word) => words.get(word) ?? word);
    throw new CliError(
      "Usage",
      `No person with the user name or subject ${JSON.stringify(who)} is in ${tenants.length === 1 ? `app cluster ${tenantText(tenants[0])}` : "an app cluster here"}. ${hintOf(nearest, "klutch members lists them")}`,
    );
  }
  const identities = new Set(
    meant
      .filter(({ person }) => person.issuer !== "")
      .map(({ person }) => JSON.stringify([person.issuer, person.subject])),
  );
  if (identities.size > 1)
    throw new CliError(
      "Usage",
      `${JSON.stringify(who)} is the name of ${identities.size} people of several issuers or subjects: ${[...identities].join(", ")}. Pass the user name that klutch members shows, or --tenant. ${untouched}`,
    );
  return meant.map(({ tenant, person }) => ({
    tenant,
    person,
    own: tenant.grants.filter(({ spec }) => isSame(person, spec.identity)),
  }));
}

function wouldEnd(who: string, found: readonly Found[], last: readonly Grant[]): CliError {
  const rows = found.flatMap(({ tenant }) => {
    const apis = last.filter(({ metadata }) => metadata.namespace === tenant.name).map(apiOf);
    return apis.length === 0 ? [] : [`${apis.toSorted().join(", ")} of ${tenantText(tenant)}`];
  });
  return new CliError(
    "Conflict",
    `Only ${who} bound ${rows.join("; ")}. Pass --end-apis to take these APIs away from the app clusters, or --keep-apis to take them over yourself. ${untouched}`,
  );
}

function stepsOf(
  who: string,
  found: readonly Found[],
  last: readonly Grant[],
  { apis }: RevokeMemberOptions,
): readonly string[] {
  return found.map(({ tenant, own }) => {
    const ends = own.filter((grant) => last.includes(grant)).map(apiOf);
    const rest =
      ends.length === 0
        ? "; no API ends"
        : `; ${apis === "keep" ? "hand over to you" : "end"} ${ends.toSorted().join(", ")}`;
    return `remove ${who} from app cluster ${tenantText(tenant)}${rest}`;
  });
}

/** The live object decides, because a login may add a member at the same moment. */
async function removePerson(
  { signal }: CliContext,
  { client }: ControlPlane,
  { name }: Tenant,
  person: PersonOfTenant,
): Promise<void> {
  const live = await client.get<KubeObject>(namespaces, { name }, { signal });
  const annotations = withoutPerson(live, ({ issuer, subject }) =>
    isSame({ issuer, subject }, { issuer: person.issuer, subject: person.subject }),
  );
  if (annotations === undefined) return;
  const { resourceVersion } = live.metadata;
  try {
    await client.mergePatch(namespaces, { name }, { metadata: { resourceVersion, annotations } }, { signal });
  } catch (cause) {
    if (!isConflict(cause)) throw cause;
    throw new CliError("Conflict", `Tenant ${name} was changed at the same moment. Run the command again.`, {
      cause,
    });
  }
}

const selfSubjectReviews: ResourceType = {
  group: "authentication.k8s.io",
  version: "v1",
  plural: "selfsubjectreviews",
  kind: "SelfSubjectReview",
  namespaced: false,
};

/** Issuer of people whom the control plane's API server knows itself. */
const apiServerIssuer = "klutch:control-plane";

/** Writes a Grant of the person who runs the command for each API, who answers for it from now on. */
async function handOver(
  context: CliContext,
  { client }: ControlPlane,
  last: readonly Grant[],
): Promise<void> {
  if (last.length === 0) return;
  const { signal, clock } = context;
  const review = await client.create<DynamicObject>(
    selfSubjectReviews,
    { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview", metadata: {} },
    { signal },
  );
  const user = textAt(review, "status", "userInfo", "username") ?? "";
  const groups = listAt(review, "status", "userInfo", "groups").filter((group) => typeof group === "string");
  for (const { metadata, spec } of last) {
    const name = `grant-${createHash("sha256")
      .update(JSON.stringify([apiServerIssuer, user, spec.api]))
      .digest("hex")
      .slice(0, 16)}`;
    const identity = { issuer: apiServerIssuer, subject: user, user, groups };
    const { api, template, clusterName, permissionClaims } = spec;
    const kept = { clusterName, permissionClaims };
    const known = Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined));
    const grant = {
      apiVersion: "klutch.anynines.com/v1alpha1",
      kind: "Grant",
      metadata: { namespace: metadata.namespace, name, finalizers: [grantFinalizer] },
      spec: { identity, api, template, boundAt: wholeSeconds(clock.now()), way: "operator", ...known },
    };
    await client.apply<KubeObject>(grants, grant, { fieldManager: "klutch-revoke", force: true, signal });
    context.terminal.say(
      `${user} answers for ${apiOf({ ...grant, spec: grant.spec } as Grant)} in ${metadata.namespace} now.`,
    );
  }
}
