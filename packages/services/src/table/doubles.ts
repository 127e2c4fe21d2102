/** Names of a table that stand twice where each may stand once. */
import { listAt, recordAt, textAt } from "@klutch/kube-core";
import { type Problem, valueText } from "@klutch/schema";

/** A text with the field that it stands in. */
export interface Placed {
  readonly text: string;
  readonly field: string;
}

/** The texts under a name in the objects of a list. Whatever is something else is left out. */
export function placedNames(list: readonly unknown[], field: string, name: string): readonly Placed[] {
  return list.flatMap((item, index) => {
    const text = textAt(item, name);
    return text === undefined ? [] : [{ text, field: `${field}[${index}].${name}` }];
  });
}

/** The texts in a list. */
export function placedTexts(list: readonly unknown[], field: string): readonly Placed[] {
  return list.flatMap((text, index) =>
    typeof text === "string" ? [{ text, field: `${field}[${index}]` }] : [],
  );
}

/** Lists all duplicates in a table's `spec`. */
export function doubles(spec: unknown): readonly Problem[] {
  const list = (name: string): readonly unknown[] => listAt(spec, name);
  const backends = list("backends");
  const keys = listAt(spec, "credentials", "keys");
  const connections = listAt(spec, "credentials", "connection");
  return [
    ...repeated("size", placedNames(list("sizes"), "spec.sizes", "word")),
    ...repeated("backend", placedNames(backends, "spec.backends", "name")),
    ...backends.flatMap((backend, index) => [
      ...repeated("service", placedTexts(listAt(backend, "services"), `spec.backends[${index}].services`)),
      ...repeated("plan", placedNames(listAt(backend, "plans"), `spec.backends[${index}].plans`, "name")),
    ]),
    ...repeated("parameter", placedNames(list("parameters"), "spec.parameters", "name")),
    ...placedNames(backends, "spec.backends", "name").flatMap(({ text }) =>
      repeated(`name at ${text}`, targetKeys(list("parameters"), text)),
    ),
    ...repeated("key", placedTexts(keys, "spec.credentials.keys")),
    ...repeated("label", placedNames(connections, "spec.credentials.connection", "label")),
    ...repeated("column", placedNames(list("columns"), "spec.columns", "name")),
    ...repeated("file", placedNames(list("examples"), "spec.examples", "file")),
  ];
}

function targetKeys(parameters: readonly unknown[], backend: string): readonly Placed[] {
  return parameters.flatMap((parameter, index) => {
    const target = recordAt(parameter, "to")[backend];
    const text = typeof target === "string" ? target : textAt(target, "key");
    return text === undefined ? [] : [{ text, field: `spec.parameters[${index}].to.${backend}` }];
  });
}

/** Lists the names that an earlier entry already has. */
export function repeated(what: string, all: readonly Placed[]): readonly Problem[] {
  const first = new Map<string, string>();
  return all.flatMap(({ text, field }) => {
    const before = first.get(text);
    if (before === undefined) first.set(text, field);
    return before === undefined
      ? []
      : [
          {
            field,
            value: valueText(text),
            expected: `another ${what}; this one stands at ${before} already`,
          },
        ];
  });
}
