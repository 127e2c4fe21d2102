/**
 * Names the app clusters whose people cannot bind their APIs again once RBAC decides, which it does unless `--bind-authorization=everyone` is set.
 * It blocks no upgrade: bound APIs go on.
 */
import {
  apiServiceExports,
  apiServiceExportTemplates,
  clusterBindings,
  crdNameOf,
  grants,
} from "@klutch/api";
import { type DynamicObject, keyOf, listAt, namespaces, printable, textAt } from "@klutch/kube-core";
import { counted, named } from "../findings.ts";
import { nearestNames } from "../nearest.ts";
import { isTenant, peopleIn } from "../tenants/people.ts";
import {
  type MayBind,
  mayBindBy,
  readRbac,
  type TemplateRef,
  type UnknownTemplates,
  unknownTemplatesIn,
  type User,
} from "./bind-rights.ts";
import { isOfGo, type Program } from "./programs.ts";
import type { ClusterReader } from "./reader.ts";
import { findings, type Findings } from "./report.ts";
import { namesText } from "./tenants.ts";

/** Flags of the backend that decide by which names RBAC knows people. */
export interface PeopleRules {
  /** `default` where the flag is absent. */
  readonly authorization: "everyone" | "rbac" | "default";
  readonly usernameClaim: string;
  readonly usernamePrefix: string;
  /** Undefined if the backend's Deployment does not name one: people of each issuer count then. */
  readonly issuer: string | undefined;
}

/** More app clusters are counted and not named, so that the other notes are seen. */
const mostTenants = 50;

/** Compares the people of each app cluster with the rights that RBAC gives them. */
export async function lookAtWhoMayBind(
  reader: ClusterReader,
  programs: readonly Program[],
): Promise<Findings> {
  // An export holds the schema of its kind, and its name is enough.
  const exports = await reader.list(apiServiceExports, { metadataOnly: true });
  const templates = await reader.list(apiServiceExportTemplates);
  if (exports.length === 0 && templates.length === 0) return findings({});
  const rules = peopleRulesOf(programs);
  const rbac = await readRbac(reader);
  const unknown = unknownNotes(unknownTemplatesIn(rbac, templates.map(refOf)), templates.map(refOf));
  if (exports.length === 0) return findings({ notes: unknown });
  const losses = lossesOf({
    exports,
    templates,
    namespaces: await reader.list(namespaces, { metadataOnly: true }),
    bindings: await reader.list(clusterBindings, { metadataOnly: true }),
    grants: await reader.list(grants),
    mayBind: mayBindBy(rbac),
    rules,
  });
  return findings({ notes: [...notesOf(losses, rules), ...unknown] });
}

/** Reads the flags of the first backend of this implementation; the defaults without a Deployment. */
export function peopleRulesOf(programs: readonly Program[]): PeopleRules {
  const { args } = programs.find((one) => one.part === "backend" && !isOfGo(one)) ?? { args: [] };
  const prefix = flagOf(args, "oidc-username-prefix") || "oidc:";
  return {
    authorization: authorizationOf(args),
    usernameClaim: flagOf(args, "oidc-username-claim") ?? "sub",
    // A dash means none, and an empty text the default.
    usernamePrefix: prefix === "-" ? "" : prefix,
    issuer: flagOf(args, "oidc-issuer-url"),
  };
}

/** Earlier releases let everyone bind when the flag is absent; the release of this command does not. */
function authorizationOf(args: readonly string[]): PeopleRules["authorization"] {
  const flag = flagOf(args, "bind-authorization");
  return flag === "rbac" || flag === "everyone" ? flag : "default";
}

/** The last one counts, as in the backend. */
function flagOf(args: readonly string[], name: string): string | undefined {
  const at = args.findLastIndex((arg) => arg === `--${name}` || arg.startsWith(`--${name}=`));
  if (at < 0) return undefined;
  const arg = args[at] ?? "";
  return arg.includes("=") ? arg.slice(name.length + 3) : args[at + 1];
}

/** One app cluster with APIs that none of its people may bind. */
export interface Loss {
  /** The cluster namespace, and in brackets by which names people know it. */
  readonly tenant: string;
  /** Names of the CRDs. */
  readonly apis: readonly string[];
  /** User names; empty if they are not known. */
  readonly people: readonly string[];
}

/** Inputs of `lossesOf`. */
export interface BoundApis {
  readonly exports: readonly DynamicObject[];
  readonly templates: readonly DynamicObject[];
  readonly namespaces: readonly DynamicObject[];
  readonly bindings: readonly DynamicObject[];
  readonly grants: readonly DynamicObject[];
  readonly mayBind: MayBind;
  readonly rules: PeopleRules;
}

/** Returns the app clusters that would lose something. Those of operators (AppClusterBinding) need no person, and are none of them. */
export function lossesOf({ exports, templates, mayBind, rules, ...read }: BoundApis): readonly Loss[] {
  const templateOf = templatesByApi(templates);
  const grantsIn = grouped(read.grants);
  const exportsIn = grouped(exports);
  const bindingsIn = grouped(read.bindings);
  return read.namespaces.filter(isTenant).flatMap((tenant) => {
    const { name = "" } = tenant.metadata;
    const known = peopleOf(tenant, rules);
    const records = grantsIn.get(name) ?? [];
    const lost = (exportsIn.get(name) ?? []).flatMap((one) => {
      const api = one.metadata.name ?? "";
      const template = templateOf.get(api);
      if (template === undefined) return [];
      const recorded = records.filter((grant) => apiOf(grant, "api") === api).map(userOf);
      const people = recorded.length > 0 ? recorded : known;
      return people.some((user) => mayBind(user, template)) ? [] : [{ api, people }];
    });
    if (lost.length === 0) return [];
    const people = new Set(lost.flatMap((one) => one.people.map(({ user }) => user)));
    const [binding = { metadata: {} }] = bindingsIn.get(name) ?? [];
    const apis = lost.map(({ api }) => api).toSorted();
    return [{ tenant: name + namesText(binding), apis, people: [...people].toSorted() }];
  });
}

/** If several templates select an API, the first by namespace and name counts, as in the backend. */
function templatesByApi(templates: readonly DynamicObject[]): ReadonlyMap<string, TemplateRef> {
  const found = new Map<string, TemplateRef>();
  for (const template of templates.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))) {
    const api = apiOf(template, "APIServiceSelector");
    if (!found.has(api)) found.set(api, refOf(template));
  }
  return found;
}

function refOf({ metadata: { namespace = "", name = "" } }: DynamicObject): TemplateRef {
  return { namespace, name };
}

function grouped(objects: readonly DynamicObject[]): ReadonlyMap<string, readonly DynamicObject[]> {
  return Map.groupBy(objects, ({ metadata }) => metadata.namespace ?? "");
}

function apiOf(object: DynamicObject, field: string): string {
  const group = textAt(object.spec, field, "group") ?? "";
  return crdNameOf({ group, resource: textAt(object.spec, field, "resource") ?? "" });
}

function userOf(grant: DynamicObject): User {
  const groups = listAt(grant.spec, "identity", "groups").filter((group) => typeof group === "string");
  return { user: textAt(grant.spec, "identity", "user") ?? "", groups };
}

/** Returns founder and members by their subjects, without groups; no one where another claim is the user name. */
function peopleOf(
  tenant: DynamicObject,
  { usernameClaim, usernamePrefix, issuer }: PeopleRules,
): readonly User[] {
  if (usernameClaim !== "sub") return [];
  return peopleIn(tenant)
    .filter((person) => issuer === undefined || [undefined, issuer].includes(person.issuer))
    .map((person) => ({ user: usernamePrefix + person.subject, groups: [] }))
    .filter(({ user }) => !user.startsWith("system:"));
}

const beginnings: Readonly<Record<PeopleRules["authorization"], (clusters: string) => string>> = {
  rbac: (clusters) => `No one who is known for ${clusters} may bind the named APIs any more`,
  everyone: (clusters) =>
    `With --bind-authorization=rbac, no one who is known for ${clusters} could bind the named APIs again`,
  default: (clusters) =>
    `RBAC decides who may bind unless --bind-authorization=everyone is set, and no one who is known for ${clusters} may bind the named APIs again`,
};

function notesOf(losses: readonly Loss[], rules: PeopleRules): readonly string[] {
  if (losses.length === 0) return [];
  const clusters = counted(losses.length, "app cluster");
  const more = losses.length - mostTenants;
  return [
    `${beginnings[rules.authorization](clusters)}. Bound APIs go on. Give the right as docs/operating.md shows (who may bind what). The groups of people are only known ` +
      "once they have logged in with rbac.",
    ...losses.slice(0, mostTenants).map((loss) => noteOf(loss, rules)),
    ...(more > 0 ? [`Not allowed to bind: ${counted(more, "more app cluster")}.`] : []),
  ];
}

function noteOf({ tenant, apis, people }: Loss, { usernameClaim }: PeopleRules): string {
  const who =
    people.length > 0
      ? named(people)
      : usernameClaim === "sub"
        ? "no one is known by this issuer"
        : `no one is known by the claim ${usernameClaim}`;
  return `Not allowed to bind: app cluster ${tenant}: ${named(apis)}; people: ${who}.`;
}

/** Names roles whose right is on templates that do not exist, with the nearest existing ones: a name that is misspelt gives no right, and RBAC says nothing. */
function unknownNotes(
  unknown: readonly UnknownTemplates[],
  templates: readonly TemplateRef[],
): readonly string[] {
  const existing = templates.map(({ name }) => name);
  const more = unknown.length - mostTenants;
  return [
    ...unknown.slice(0, mostTenants).map(({ role, names }) => {
      const near = [...new Set(names.flatMap((name) => nearestNames(name, existing)))];
      const hint = near.length === 0 ? "" : ` Nearest: ${named(near)}.`;
      return `${role} gives the right bind on APIServiceExportTemplates that do not exist: ${named(names.map((name) => printable(name, 128)))}.${hint}`;
    }),
    ...(more > 0 ? [`Names of templates that do not exist: ${counted(more, "more role")}.`] : []),
  ];
}
