/** A claim as an object of an operator, by the recipe of a service's table. Pure; the claim's content never says whose the object is. */
import { hash } from "node:crypto";
import { namespacedClaimGroup } from "@klutch/api";
import type { Json } from "@klutch/crossplane";
import { isRecord, recordAt, textAt, valueAt } from "@klutch/kube-core";
import { brokerParameters, type ComposedObject, type ManifestRecipe } from "@klutch/services";
import type { ClaimIdentity } from "./managed-resource.ts";

type Patch = NonNullable<ManifestRecipe["patches"]>[number];

/** Input of `objectManifest`. */
export interface ManifestSource extends Pick<ComposedObject, "parameters"> {
  readonly recipe: ManifestRecipe;
}

/** The manifest, in the claim's namespace and named after it; or what of the claim has no place in it. */
export function objectManifest(
  { recipe, parameters }: ManifestSource,
  composite: Json,
  claim: ClaimIdentity,
): { readonly manifest: Json } | { readonly problem: string } {
  let made: Json = recipe.manifest;
  for (const patch of recipe.patches ?? []) {
    const found = sourceOf(patch.from, composite, claim, parameters);
    const value = found === undefined ? patch.default : changed(patch, found);
    if (value === unfit)
      return { problem: `${patch.from} is ${JSON.stringify(found)}, for which ${patch.to} has no value` };
    if (value !== undefined) made = withValue(made, patch.to.split("."), value);
  }
  const { labels, annotations } = recordAt(made, "metadata");
  const metadata = { labels, annotations, name: madeName(claim.name, claim), namespace: claim.namespace };
  return { manifest: { ...made, metadata: defined(metadata) } };
}

/** Fields of a claim that name another claim of its namespace. */
const claimRefs: readonly string[] = ["spec.instanceRef", "spec.backupRef"];

/**
 * Returns the name of the composed object. A legacy claim and a claim that is the composite itself may have the same name in one namespace:
 * if they shared an object, deleting one of them would delete it with its data.
 */
function madeName(name: string, { namespace, isComposite }: ClaimIdentity): string {
  if (!isComposite) return name;
  const mark = hash("sha256", `${namespacedClaimGroup}/${namespace}/${name}`, "hex").slice(0, 8);
  return `${name.slice(0, 54)}-${mark}`;
}

const unfit: unique symbol = Symbol("no value");

/** Returns the value's source; undefined if the claim does not set it. */
function sourceOf(
  from: string,
  composite: Json,
  claim: ClaimIdentity,
  parameters: ComposedObject["parameters"],
): unknown {
  if (from === "claim.name") return madeName(claim.name, claim);
  if (from === "claim.namespace") return claim.namespace;
  if (claim.isComposite && claimRefs.includes(from)) {
    const name = textAt(composite, ...from.split("."));
    return name === undefined ? undefined : madeName(name, claim);
  }
  if (from !== "parameters") return valueAt(composite, ...from.split("."));
  const claimed = valueAt(composite, "spec", "parameters");
  const known = isRecord(claimed) ? brokerParameters({ parameters }, claimed) : {};
  return Object.keys(known).length === 0 ? undefined : known;
}

function changed({ trimPrefix, lastWord, hasWord, as }: Patch, found: unknown): unknown {
  if (lastWord === undefined && hasWord === undefined && trimPrefix === undefined && as === undefined)
    return found;
  if (typeof found !== "string") return unfit;
  const words = found.split("-");
  const own = (values: Readonly<Record<string, unknown>>, word: string | undefined): unknown =>
    word !== undefined && Object.hasOwn(values, word) ? values[word] : unfit;
  if (lastWord !== undefined) return own(lastWord, words.at(-1));
  if (hasWord !== undefined)
    return own(
      hasWord,
      words.find((word) => Object.hasOwn(hasWord, word)),
    );
  if (trimPrefix !== undefined && !found.startsWith(trimPrefix)) return unfit;
  const rest = found.slice(trimPrefix?.length ?? 0);
  if (as === undefined) return rest;
  return /^\d{1,9}$/.test(rest) ? Number(rest) : unfit;
}

/** A copy with the value at the path; what stands in its way and is no object is replaced. */
export function withValue(object: Json, [first = "", ...rest]: readonly string[], value: unknown): Json {
  return { ...object, [first]: rest.length === 0 ? value : withValue(recordAt(object, first), rest, value) };
}

function defined(value: Json): Json {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined));
}
