/** The access matrix as text: one line for each right of an account in a place, with the scopes and phases in which it holds. */
import { covers, type Rights, type Rule, type Served } from "./rights.ts";

/** The rights of one account in one place at one moment. */
export interface Cell {
  readonly scope: string;
  readonly phase: string;
  readonly account: string;
  readonly place: string;
  /** `resource.group/subresource "name"` → verbs. */
  readonly verbs: ReadonlyMap<string, ReadonlySet<string>>;
}

const order = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

/** Expands the rules over the served resources: a wildcard becomes every resource and verb that it matches. */
export function layOut({ rules, urls }: Rights, served: readonly Served[]): Cell["verbs"] {
  const found = new Map<string, Set<string>>();
  const add = (key: string, verbs: readonly string[]): void => {
    found.set(key, new Set([...(found.get(key) ?? []), ...verbs]));
  };
  for (const rule of rules) {
    for (const { group, resource, verbs } of resourcesOf(rule, served)) {
      const names = rule.names.length === 0 ? [""] : rule.names.map((name) => ` "${name}"`);
      for (const name of names) {
        const own = rule.verbs.includes("*") ? ["*", ...verbs] : rule.verbs;
        add(`${nameOf(group, resource)}${name}`, own);
      }
    }
  }
  for (const { verbs, paths } of urls) {
    for (const path of paths) add(`url ${path}`, verbs);
  }
  return found;
}

function resourcesOf(rule: Rule, served: readonly Served[]): readonly Served[] {
  const matching = served.filter(
    ({ group, resource }) =>
      (rule.groups.includes("*") || rule.groups.includes(group)) && covers(rule.resources, resource),
  );
  const isServed = (group: string, resource: string): boolean =>
    matching.some((one) => one.group === group && covers([resource], one.resource));
  // A right on an unknown resource is still a right, and a wildcard covers more than the resources served today.
  const others = rule.groups.flatMap((group) =>
    rule.resources
      .filter((resource) => resource.includes("*") || group === "*" || !isServed(group, resource))
      .map((resource) => ({ group, resource, verbs: [] })),
  );
  return [...matching, ...others];
}

/** `databases.example.org/status`. */
export function nameOf(group: string, resource: string): string {
  const [plural = "", ...rest] = resource.split("/");
  return [group === "" ? plural : `${plural}.${group}`, ...rest].join("/");
}

/** Returns the verbs of the first argument that the second does not have. */
export function without(verbs: Cell["verbs"], known: Cell["verbs"]): Cell["verbs"] {
  const rest = new Map<string, ReadonlySet<string>>();
  for (const [key, all] of verbs) {
    const more = all.difference(known.get(key) ?? new Set());
    if (more.size > 0) rest.set(key, more);
  }
  return rest;
}

/** The lines, sorted by account, place and resource as they first come. Every account and place has at least one. */
export function matrixLines(cells: readonly Cell[]): readonly string[] {
  const moments = [...new Set(cells.map(momentOf))];
  const lines: string[] = [];
  for (const subject of new Set(cells.map(subjectOf))) {
    const own = cells.filter((cell) => subjectOf(cell) === subject);
    const resources = [...new Set(own.flatMap(({ verbs }) => [...verbs.keys()]))].toSorted();
    if (resources.length === 0) lines.push(`${subject} | nothing more | - | always`);
    for (const resource of resources) {
      const when = Map.groupBy(
        own.filter(({ verbs }) => verbs.has(resource)),
        ({ verbs }) => inOrder(verbs.get(resource) ?? new Set()),
      );
      for (const [verbs, holding] of when) {
        lines.push(`${subject} | ${resource} | ${verbs} | ${describe(holding, moments)}`);
      }
    }
  }
  return lines;
}

const subjectOf = ({ account, place }: Cell): string => `${account} | ${place}`;
const momentOf = ({ scope, phase }: Cell): string => `${scope}/${phase}`;

function describe(cells: readonly Cell[], moments: readonly string[]): string {
  const holding = new Set(cells.map(momentOf));
  if (moments.every((moment) => holding.has(moment))) return "always";
  const scopes = Map.groupBy(cells, ({ scope }) => scope);
  const phases = [...scopes].map(
    ([scope, own]) => [scope, own.map(({ phase }) => phase).join(", ")] as const,
  );
  const [first] = phases;
  const isSame = first !== undefined && phases.every(([, text]) => text === first[1]);
  const isEverywhere = scopes.size === new Set(moments.map((moment) => moment.split("/")[0])).size;
  if (isSame && isEverywhere) return first[1];
  return phases.map(([scope, text]) => `scope ${scope}: ${text}`).join("; ");
}

function inOrder(verbs: ReadonlySet<string>): string {
  const known = order.filter((verb) => verbs.has(verb));
  return [...known, ...[...verbs].filter((verb) => !order.includes(verb)).toSorted()].join(" ");
}

/** Returns the lines in which two texts differ: `-` is missing now, `+` is new. */
export function difference(before: readonly string[], now: readonly string[]): readonly string[] {
  return [
    ...before.filter((line) => !now.includes(line)).map((line) => `- ${line}`),
    ...now.filter((line) => !before.includes(line)).map((line) => `+ ${line}`),
  ];
}
