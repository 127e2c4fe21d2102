/** Lists what the konnector may write in an app cluster, as lines of text that follow from accepted permission claims. */
import { isDnsSubdomain } from "@klutch/kube-core";
import { checkApiFullName } from "../foreign/api-name.ts";
import type { AnsweredPermissionClaim, KeyPatterns, PermissionClaim } from "../kinds/permission-claim.ts";
import { crdNameOf } from "../naming.ts";
import type { AutoBindScope } from "./auto-bind.ts";
import type { KonnectorUpdateScope } from "./konnector-updates.ts";

/** Resources that the agent may write: names as `<plural>.<group>`, or `<plural>` in the core group. */
export interface KonnectorScope {
  readonly apis: readonly string[];
  /** Lines of `claimRights`. */
  readonly claims: readonly string[];
  /** Types of Secrets that accepted claims name besides the list. */
  readonly secretTypes: readonly string[];
  /** Groups whose APIs the agent may bind by itself. Default: none. */
  readonly autoBind?: AutoBindScope | undefined;
  /** Updates of its own image that the agent may follow. Default: none. */
  readonly updates?: KonnectorUpdateScope | undefined;
}

/** Returns the scope of the bindings: each API by its name, and the rights of its accepted claims. */
export function konnectorScopeOf(
  bindings: readonly { readonly name: string; readonly claims: readonly AnsweredPermissionClaim[] }[],
  autoBind?: AutoBindScope,
  updates?: KonnectorUpdateScope,
): KonnectorScope {
  const shared = bindings.filter(({ name }) => checkApiFullName(name) === undefined);
  const accepted = shared.flatMap(({ claims }) => claims).filter(({ state }) => state === "Accepted");
  return {
    apis: shared.map(({ name }) => name),
    claims: accepted.flatMap(claimRights).filter((right) => !right.startsWith("read ")),
    secretTypes: accepted.flatMap(secretTypesOf),
    ...(autoBind === undefined ? {} : { autoBind }),
    ...(updates === undefined ? {} : { updates }),
  };
}

/** More objects than this are not listed one by one: then a claim holds for its names in any namespace. */
const mostObjects = 5_000;

/**
 * Returns what a claim allows if it is accepted, one right a line; nothing for one that names no resource. Names and namespaces are the
 * consumer's, and `*` is any of them.
 *
 * | line | allows |
 * |---|---|
 * | `read <resource> <namespace>/<name>` | to read it; admission does not see that |
 * | `copy …` | to create it with Klutch's mark, and to change or delete it while it has the mark |
 * | `take …` | to mark, change or delete it although it has no mark |
 * | `patch …` | to change in it what lines `field`, `own-labels` and `own-annotations` of the resource name |
 * | `field <resource> <path>` | see `patch` |
 * | `own-labels <resource> <pattern>`, `own-annotations …` | see `patch` |
 * | `labels <resource> <pattern>`, `annotations …` | keys on marked objects, besides those that always cross |
 */
export function claimRights(claim: PermissionClaim): readonly string[] {
  const { selector = {}, read = {}, update = {}, autoAdopt, autoDonate, create } = claim;
  const { owner } = selector;
  const resource = crdNameOf(claim);
  if (!isDnsSubdomain(resource)) return [];
  const names = exact(selector.names);
  const namespaces = exact(selector.namespaces);
  const places = names.length * namespaces.length > mostObjects ? ["*"] : namespaces;
  const isCopied = owner !== "Consumer" || autoAdopt === true || autoDonate === true;
  const isTaken = isCopied && (autoAdopt === true || create?.replaceExisting === true);
  const changes = [
    ...lines("field", resource, (update.fields ?? []).map(plainPath)),
    ...lines("own-labels", resource, patternsOf(update.labelsOnConsumerOwnedObjects)),
    ...lines("own-annotations", resource, patternsOf(update.annotationsOnConsumerOwnedObjects)),
  ];
  const isChanged = changes.length > 0 && (owner !== "Provider" || autoDonate === true);
  const kept = [
    ...lines("labels", resource, [
      ...patternsOf(update.labels),
      ...patternsOf(read.labelsOnProviderOwnedObjects),
    ]),
    ...lines("annotations", resource, [
      ...patternsOf(update.annotations),
      ...patternsOf(read.overrideAnnotations),
    ]),
  ];
  const verbs = [
    "read",
    ...(isCopied ? ["copy"] : []),
    ...(isTaken ? ["take"] : []),
    ...(isChanged ? ["patch"] : []),
  ];
  const objects = places.flatMap((place) => names.map((name) => `${place}/${name}`));
  return [
    ...verbs.flatMap((verb) => objects.map((object) => `${verb} ${resource} ${object}`)),
    ...(isChanged ? changes : []),
    ...(isCopied ? kept : []),
  ];
}

function secretTypesOf({ resource, selector }: PermissionClaim): readonly string[] {
  if (resource !== "secrets") return [];
  return (selector?.fieldSelectors ?? []).flatMap((text) =>
    [...text.matchAll(/(?:^|,)\s*type==?([-./\w]+)\s*(?=,|$)/g)].map((match) => match[1] ?? ""),
  );
}

/** Leaves out texts that are no names, because no object can have it; a star makes the others superfluous. */
function exact(names: readonly string[] = []): readonly string[] {
  return names.length === 0 || names.includes("*") ? ["*"] : names.filter((name) => isName.test(name));
}

const isName = /^[-.:\w]+$/;
const isPattern = /^[-./*\w]+$/;

function patternsOf(list: KeyPatterns = []): readonly string[] {
  return list.map(({ pattern }) => pattern).filter((pattern) => isPattern.test(pattern));
}

/** `data['tls.crt']` → `data.tls.crt`. */
function plainPath(text: string): string {
  return text
    .trim()
    .replaceAll(/\['([^']+)'\]|\["([^"]+)"\]/g, ".$1$2")
    .replace(/^\$?\.?/, "");
}

function lines(verb: string, resource: string, texts: readonly string[]): readonly string[] {
  return texts.filter((text) => isPattern.test(text)).map((text) => `${verb} ${resource} ${text}`);
}
