/** Checks the references between the parts of a table: words of plans, names of services, parameters, backends and keys. */
import { isRecord, listAt, recordAt, textAt, valueAt } from "@klutch/kube-core";
import { type Problem, valueText } from "@klutch/schema";
import { sourceProblems } from "../render/connection-text.ts";
import { type Placed, placedNames, placedTexts } from "./doubles.ts";
import { objectProblems } from "./object-problems.ts";

/** Lists all references in a table's `spec` to missing parts. */
export function wrongReferences(spec: unknown): readonly Problem[] {
  return [
    ...defaultProblems(spec),
    ...listAt(spec, "backends").flatMap((backend, index) =>
      backendProblems(spec, backend, `spec.backends[${index}]`),
    ),
    ...unknownBackends(spec),
    ...connectionProblems(spec),
  ];
}

function defaultProblems(spec: unknown): readonly Problem[] {
  const backends = listAt(spec, "backends");
  const defaults = backends.filter((backend) => valueAt(backend, "default") === true).length;
  if (backends.length === 0 || defaults === 1) return [];
  const value = defaults === 0 ? "no default" : `${defaults} defaults`;
  return [{ field: "spec.backends", value, expected: "exactly one backend with default: true" }];
}

function backendProblems(spec: unknown, backend: unknown, field: string): readonly Problem[] {
  const plans = placedNames(listAt(backend, "plans"), `${field}.plans`, "name");
  const fields = claimFields(spec).map(({ text }) => text);
  const rules = listAt(backend, "rules").flatMap((rule, index) => {
    const at = `${field}.rules[${index}]`;
    return [
      ...oneKind(rule, at),
      ...sizeProblems(spec, rule, plans),
      ...wordsOf(rule, at)
        .filter(({ text }) => plans.length > 0 && !plans.some((plan) => plan.text.includes(text)))
        .map((word) => missing(word, "a word that a plan of this backend has")),
      ...notAmong(
        servicesOf(rule, at),
        placedTexts(listAt(backend, "services"), ""),
        "service of this backend",
      ),
      ...notAmong(parametersOf(rule, at), placedNames(listAt(spec, "parameters"), "", "name"), "parameter"),
      ...notAmong(fieldOf(rule, at), claimFields(spec), "field of the claim's spec"),
    ];
  });
  const sources = fields.filter((name) => name !== "parameters");
  return [...rules, ...objectProblems(spec, backend, field, sources)];
}

const kinds = [
  "neverSmaller",
  "keeps",
  "never",
  "immutable",
  "planNeeds",
  "serviceNeeds",
  "parametersNeed",
  "cel",
] as const;

function oneKind(rule: unknown, field: string): readonly Problem[] {
  if (!isRecord(rule)) return [];
  const found = kinds.filter((kind) => rule[kind] !== undefined);
  const value = found.length === 0 ? "none of them" : found.join(" and ");
  if (found.length !== 1) return [{ field, value, expected: `exactly one of ${kinds.join(", ")}` }];
  const message = textAt(rule, "message");
  if (found[0] !== "parametersNeed" && message?.includes("{parameter}") === true)
    return [
      {
        field: `${field}.message`,
        value: valueText(message),
        expected: "no {parameter}; it is for parametersNeed",
      },
    ];
  if (found[0] !== "cel" || rule["message"] !== undefined) return [];
  return [{ field: `${field}.message`, value: "missing", expected: "what a claim is refused with" }];
}

function sizeProblems(spec: unknown, rule: unknown, plans: readonly Placed[]): readonly Problem[] {
  if (valueAt(rule, "neverSmaller") === undefined) return [];
  const words = placedNames(listAt(spec, "sizes"), "", "word").map(({ text }) => text);
  return plans
    .filter(({ text }) => !words.some((word) => text.includes(`-${word}`)))
    .map((plan) =>
      missing(plan, `a name with the size of the plan: ${named(words.map((word) => `-${word}`))}`),
    );
}

function wordsOf(rule: unknown, field: string): readonly Placed[] {
  return [
    ["keeps", "word"],
    ["never", "from"],
    ["never", "to"],
    ["planNeeds", "word"],
    ["serviceNeeds", "word"],
    ["parametersNeed", "word"],
  ].flatMap(([kind = "", name = ""]) => textOf(rule, field, kind, name));
}

function textOf(rule: unknown, field: string, kind: string, name: string): readonly Placed[] {
  const text = textAt(rule, kind, name);
  return text === undefined ? [] : [{ text, field: `${field}.${kind}.${name}` }];
}

function servicesOf(rule: unknown, field: string): readonly Placed[] {
  return [
    ...placedTexts(listAt(rule, "planNeeds", "services"), `${field}.planNeeds.services`),
    ...textOf(rule, field, "serviceNeeds", "service"),
  ];
}

function parametersOf(rule: unknown, field: string): readonly Placed[] {
  return placedTexts(listAt(rule, "parametersNeed", "parameters"), `${field}.parametersNeed.parameters`);
}

function fieldOf(rule: unknown, field: string): readonly Placed[] {
  return textOf(rule, field, "immutable", "field");
}

/** Names that every claim's spec has, from us. */
export const commonFields: readonly string[] = ["service", "plan", "acceptsIncomplete", "parameters"];

function claimFields(spec: unknown): readonly Placed[] {
  const names = [...commonFields, ...Object.keys(recordAt(spec, "claim", "fields"))];
  return names.map((text) => ({ text, field: "" }));
}

function unknownBackends(spec: unknown): readonly Problem[] {
  const backends = placedNames(listAt(spec, "backends"), "", "name");
  const ofParameters = listAt(spec, "parameters").flatMap((parameter, index) =>
    Object.keys(recordAt(parameter, "to")).map((text) => ({
      text,
      field: `spec.parameters[${index}].to.${text}`,
    })),
  );
  const ofFields = Object.entries(recordAt(spec, "claim", "fields")).flatMap(([name, field]) =>
    placedTexts(listAt(field, "backends"), `spec.claim.fields.${name}.backends`),
  );
  return notAmong([...ofFields, ...ofParameters], backends, "backend");
}

function connectionProblems(spec: unknown): readonly Problem[] {
  const keys = placedTexts(listAt(spec, "credentials", "keys"), "");
  const connections = listAt(spec, "credentials", "connection");
  const field = "spec.credentials.connection";
  const used = ["from", "port"].flatMap((name) => placedNames(connections, field, name));
  return [...notAmong(used, keys, "key of credentials.keys"), ...sourceProblems(connections, field)];
}

function notAmong(all: readonly Placed[], known: readonly Placed[], what: string): readonly Problem[] {
  const texts = known.map(({ text }) => text);
  return all
    .filter(({ text }) => !texts.includes(text))
    .map((placed) => missing(placed, `a ${what}: ${named(texts)}`));
}

function named(texts: readonly string[]): string {
  return texts.length === 0 ? "there is none" : `one of ${texts.join(", ")}`;
}

function missing({ text, field }: Placed, expected: string): Problem {
  return { field, value: valueText(text), expected };
}
