/**
 * Finds out what a person may see in the console. Each collection is open as a whole to those whom the control plane's RBAC lets `list` the kind
 * behind it in all namespaces; all others see the tenants that they are members of, and the templates that they may bind.
 */
import {
  apiServiceExportTemplates,
  clusterBindings,
  grants,
  identityAnnotation,
  konnectorRollouts,
  splitIdentity,
  tenants,
  usageLedgers,
} from "@klutch/api";
import { events, type KubeObject, type ResourceType } from "@klutch/kube-core";
import type { Collection, Viewer } from "@klutch/overview";
import type { MayDo } from "../authorization/access-reviews.ts";
import type { AllowedOffers } from "../authorization/allowed-offers.ts";
import { UserError } from "../errors.ts";
import { bySubject, isFounder, isMember } from "../provisioning/members.ts";
import type { Session } from "../sessions/sessions.ts";

/** Rights of a person at this moment. */
export interface Rights {
  readonly viewer: Viewer;
  /** Namespaces of the tenants that they are a member of. */
  readonly tenants: ReadonlySet<string>;
  /** Collections whose rows they see all; `instances/<api>` for the claims of one kind. */
  readonly all: ReadonlySet<string>;
  /** `<namespace>/<name>` of templates that they may bind. */
  readonly templates: ReadonlySet<string>;
}

/** Rejects with `UserError`: 503 while the control plane does not answer, 403 for a person who may see nothing. */
export type RightsOf = (session: Session) => Promise<Rights>;

const behind = {
  clusters: clusterBindings,
  konnectors: konnectorRollouts,
  offers: apiServiceExportTemplates,
  members: tenants,
  grants,
  audit: events,
  cost: usageLedgers,
} as const;

/** Returns the key of the right to see all claims of a kind. */
export function instancesOf(api: string): string {
  return `instances/${api}`;
}

/** Creates the question. */
export function createRightsOf(parts: {
  readonly mayDo: MayDo;
  readonly offers: Pick<AllowedOffers, "visible" | "unavailable">;
  readonly namespaces: { byIndex(index: string, value: string): readonly KubeObject[] };
  /** Kinds of claims by `<plural>.<group>`. */
  readonly kinds: () => ReadonlyMap<string, { readonly type: ResourceType }>;
  readonly provider: string;
  /** Collections whose rows have actions. */
  readonly actions: readonly Collection[];
  readonly signal: AbortSignal;
}): RightsOf {
  const { mayDo, offers, namespaces, kinds, provider, actions, signal } = parts;
  const seen = async (session: Session): Promise<ReadonlySet<string>> => {
    const { user, groups = [] } = session;
    // Without a name in RBAC a person has no rights there.
    if (user === undefined) return new Set();
    const asked = [
      ...Object.entries(behind),
      ...[...kinds()].map(([api, { type }]) => [instancesOf(api), type] as const),
    ];
    const answers = await Promise.all(
      asked.map(([, { group, plural: resource }]) =>
        mayDo({ user, groups }, { verb: "list", group, resource }, signal),
      ),
    );
    const all = new Set(asked.flatMap(([name], index) => (answers[index] === true ? [name] : [])));
    // Its rows hold what ClusterBindings say.
    if (!all.has("clusters")) all.delete("konnectors");
    return all;
  };
  return async (session) => {
    const own = tenantsOf(session, namespaces);
    const [all, templates] = await Promise.all([seen(session), templatesOf(session, offers)]);
    const isMemberOfAny = own.length > 0;
    const sees = (name: string): boolean => isMemberOfAny || all.has(name);
    const seesInstances = isMemberOfAny || [...all].some((name) => name.startsWith(instancesOf("")));
    const open: Readonly<Record<Collection, boolean>> = {
      problems: sees("clusters") || sees("offers") || seesInstances,
      offers: all.has("offers") || templates.size > 0,
      clusters: sees("clusters"),
      // Roll-outs are the operators': a member is told of none.
      konnectors: all.has("konnectors"),
      instances: seesInstances,
      members: sees("members"),
      grants: sees("grants"),
      audit: sees("audit"),
      cost: sees("cost"),
    };
    const collections = (Object.keys(open) as Collection[]).filter((name) => open[name]);
    if (all.size === 0 && !isMemberOfAny)
      throw new UserError(
        403,
        "You are a member of no app cluster here, and no role lets you see others.",
        "Bind one with kubectl bind, or ask the platform operator for the right to list clusterbindings.",
      );
    const viewer: Viewer = {
      name: session.displayName ?? session.verifiedEmail ?? session.user ?? session.subject,
      seesAll: all.has("clusters"),
      tenants: own,
      collections,
      sessionEndsAt: new Date(session.endsAt).toISOString(),
      provider,
      ...(actions.length > 0 && { actions: actions.filter((name) => collections.includes(name)) }),
    };
    return { viewer, tenants: new Set(own), all, templates };
  };
}

/** Returns the cluster namespaces that were made for the person or that they joined; those that are being deleted are none. */
function tenantsOf(
  session: Session,
  namespaces: { byIndex(index: string, value: string): readonly KubeObject[] },
): readonly string[] {
  return namespaces
    .byIndex(bySubject, session.subject)
    .filter((space) => {
      const { annotations, deletionTimestamp } = space.metadata;
      if (deletionTimestamp !== undefined) return false;
      const identity = annotations?.[identityAnnotation] ?? "";
      const isOwn =
        splitIdentity(identity).subject === session.subject && isFounder(space, identity, session);
      return isOwn || isMember(space, session);
    })
    .map(({ metadata }) => metadata.name ?? "")
    .toSorted();
}

async function templatesOf(
  session: Session,
  offers: Pick<AllowedOffers, "visible" | "unavailable">,
): Promise<ReadonlySet<string>> {
  if (session.user === undefined) return new Set();
  const found = await Promise.all([offers.visible(session), offers.unavailable(session)]);
  return new Set(found.flat().map(({ template }) => `${template.namespace}/${template.name}`));
}
