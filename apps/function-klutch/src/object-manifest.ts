/** A claim as an object of an operator, by the recipe of a service's table. Pure; the claim's content never says whose the object is. */
import type { Json } from "@klutch/crossplane";
import { isRecord, recordAt, valueAt } from "@klutch/kube-core";
import { brokerParameters, type ComposedObject } from "@klutch/services";
import type { ClaimIdentity } from "./composite.ts";

type Patch = NonNullable<ComposedObject["recipe"]["patches"]>[number];

/** The manifest, under the claim's name and in its namespace; or what of the claim has no place in it. */
export function objectManifest(
  { recipe, parameters }: ComposedObject,
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
  const metadata = { labels, annotations, name: claim.name, namespace: claim.namespace };
  return { manifest: { ...made, metadata: defined(metadata) } };
}

const unfit: unique symbol = Symbol("no value");

/** Undefined: the claim says nothing. */
function sourceOf(
  from: string,
  composite: Json,
  claim: ClaimIdentity,
  parameters: ComposedObject["parameters"],
): unknown {
  if (from === "claim.name") return claim.name;
  if (from === "claim.namespace") return claim.namespace;
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
