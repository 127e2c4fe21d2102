/** Checks the objects of a backend: their identity, their input, and that every plan and service has its value. */
import { isRecord, listAt, recordAt, textAt, valueAt } from "@klutch/kube-core";
import { type Problem, valueText } from "@klutch/schema";
import { type Placed, placedNames, placedTexts, repeated } from "./doubles.ts";

/** Fields of the specs of the shared claims. */
const sharedFields: Readonly<Record<string, readonly string[]>> = {
  binding: ["instanceRef", "serviceInstanceType"],
  backup: ["instanceRef", "serviceInstanceType"],
  restore: ["backupRef", "instanceRef", "serviceInstanceType"],
};

/** Lists all faults of a backend's recipe; `claimFields` are those of an instance's spec. */
export function objectProblems(
  spec: unknown,
  backend: unknown,
  field: string,
  claimFields: readonly string[],
): readonly Problem[] {
  const object = valueAt(backend, "object");
  const ways = ["broker", "object"].filter((way) => valueAt(backend, way) !== undefined);
  if (ways.length !== 1 && isRecord(backend)) {
    const value = ways.length === 0 ? "neither" : "both";
    return [{ field, value, expected: "either broker, or object: how instances are made" }];
  }
  if (!isRecord(object)) return [];
  const at = `${field}.object`;
  return [
    ...recipeProblems(object, at, [...claimFields.map((name) => `spec.${name}`), "parameters"]),
    ...Object.entries(sharedFields).flatMap(([kind, fields]) =>
      isRecord(object[kind])
        ? recipeProblems(
            object[kind],
            `${at}.${kind}`,
            fields.map((name) => `spec.${name}`),
          )
        : [],
    ),
    ...unmadeParameters(spec, backend, at),
    ...listAt(object, "patches").flatMap((patch) => unmetValues(backend, patch, field)),
  ];
}

function recipeProblems(recipe: unknown, field: string, sources: readonly string[]): readonly Problem[] {
  const known = [...sources, "claim.name", "claim.namespace"];
  const patches = listAt(recipe, "patches");
  const reported = listAt(recipe, "status");
  return [
    ...manifestProblems(valueAt(recipe, "manifest"), `${field}.manifest`),
    ...readyProblems(textAt(recipe, "ready"), `${field}.ready`),
    ...placedNames(patches, `${field}.patches`, "from")
      .filter(({ text }) => !known.includes(text))
      .map((from) => problemOf(from, `one of ${known.join(", ")}`)),
    ...repeated("path", placedNames(patches, `${field}.patches`, "to")),
    ...repeated("path", placedNames(reported, `${field}.status`, "to")),
    ...patches.flatMap((patch, index) => patchProblems(patch, `${field}.patches[${index}]`)),
  ];
}

/** Name and namespace are the claim's, so that no claim reaches what another one has. */
function manifestProblems(manifest: unknown, field: string): readonly Problem[] {
  if (!isRecord(manifest)) return [];
  const expected = (name: string, pattern: RegExp, what: string): readonly Problem[] =>
    pattern.test(textAt(manifest, name) ?? "")
      ? []
      : [{ field: `${field}.${name}`, value: printed(manifest[name]), expected: what }];
  const metadata = Object.entries(recordAt(manifest, "metadata"))
    .filter(([name]) => name !== "labels" && name !== "annotations")
    .map(([name, value]) => ({
      field: `${field}.metadata.${name}`,
      value: printed(value),
      expected: "labels and annotations only; name and namespace are the claim's",
    }));
  return [
    ...expected("apiVersion", /^([a-z0-9][-a-z0-9.]*\/)?v[a-z0-9]+$/, "a version such as example.org/v1"),
    ...expected("kind", /^[A-Z][A-Za-z0-9]*$/, "a kind such as Database"),
    ...metadata,
    ...(manifest["status"] === undefined
      ? []
      : [{ field: `${field}.status`, value: "there", expected: "no status; the operator writes it" }]),
  ];
}

function readyProblems(ready: string | undefined, field: string): readonly Problem[] {
  if (ready === undefined || /\bobject\b/.test(ready)) return [];
  return [{ field, value: valueText(ready), expected: "a CEL query of the word object" }];
}

function patchProblems(patch: unknown, field: string): readonly Problem[] {
  const ways = ["trimPrefix", "lastWord", "hasWord"].filter((way) => valueAt(patch, way) !== undefined);
  const isPlain = ways.length === 0 && valueAt(patch, "as") === undefined;
  if (ways.length > 1)
    return [{ field, value: ways.join(" and "), expected: "one of trimPrefix, lastWord, hasWord, or none" }];
  if (textAt(patch, "from") === "parameters" && !(isPlain && valueAt(patch, "default") === undefined))
    return [
      { field, value: "changed parameters", expected: "from and to only; parameters[].to changes them" },
    ];
  return [];
}

/** A parameter that has a name at the backend has to arrive there. */
function unmadeParameters(spec: unknown, backend: unknown, field: string): readonly Problem[] {
  const name = textAt(backend, "name") ?? "";
  const patches = listAt(backend, "object", "patches");
  if (patches.some((patch) => textAt(patch, "from") === "parameters")) return [];
  const sent = listAt(spec, "parameters").find((parameter) => Object.hasOwn(recordAt(parameter, "to"), name));
  if (sent === undefined) return [];
  return [
    {
      field: `${field}.patches`,
      value: "without parameters",
      expected: `a patch from parameters, for ${textAt(sent, "name") ?? "one"} has a name at this backend`,
    },
  ];
}

/** Plans and services for which a patch has no value. */
function unmetValues(backend: unknown, patch: unknown, field: string): readonly Problem[] {
  const from = textAt(patch, "from");
  const values =
    from === "spec.plan"
      ? placedNames(listAt(backend, "plans"), `${field}.plans`, "name")
      : from === "spec.service"
        ? placedTexts(listAt(backend, "services"), `${field}.services`)
        : [];
  const { lastWord, hasWord, trimPrefix, as } = recordAt(patch);
  const where = `for the patch to ${textAt(patch, "to") ?? "?"}`;
  const without = (fits: (words: readonly string[], text: string) => boolean): readonly Placed[] =>
    values.filter(({ text }) => !fits(text.split("-"), text));
  if (isRecord(lastWord))
    return without((words) => Object.hasOwn(lastWord, words.at(-1) ?? "")).map((value) =>
      problemOf(value, `a name with the last word ${namesOf(lastWord)}, ${where}`),
    );
  if (isRecord(hasWord))
    return without((words) => words.some((word) => Object.hasOwn(hasWord, word))).map((value) =>
      problemOf(value, `a name with the word ${namesOf(hasWord)}, ${where}`),
    );
  if (typeof trimPrefix !== "string") return [];
  const rest = as === "integer" ? /^\d{1,9}$/ : /^/;
  return without(
    (_words, text) => text.startsWith(trimPrefix) && rest.test(text.slice(trimPrefix.length)),
  ).map((value) =>
    problemOf(value, `a name of ${trimPrefix}${as === "integer" ? " and a number" : "…"}, ${where}`),
  );
}

function namesOf(values: Readonly<Record<string, unknown>>): string {
  return Object.keys(values).join(" or ");
}

function printed(value: unknown): string {
  return value === undefined ? "missing" : valueText(value);
}

function problemOf({ text, field }: Placed, expected: string): Problem {
  return { field, value: valueText(text), expected };
}
