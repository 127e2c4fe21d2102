/** Names that a table may not take, because others have them. */
import { listAt, recordAt, textAt } from "@klutch/kube-core";
import { type Problem, valueText } from "@klutch/schema";
import { placedNames } from "./doubles.ts";
import { commonFields } from "./references.ts";

/** A service that exists beside the table. */
export interface OtherService {
  readonly type: string;
  readonly kind: string;
}

const sharedKinds: readonly string[] = ["ServiceBinding", "Backup", "Restore"];

/** Fields that Crossplane adds to the spec of every claim. */
const fieldsOfCrossplane: readonly string[] = [
  "compositeDeletePolicy",
  "compositionRef",
  "compositionRevisionRef",
  "compositionRevisionSelector",
  "compositionSelector",
  "compositionUpdatePolicy",
  "crossplane",
  "publishConnectionDetailsTo",
  "resourceRef",
  "writeConnectionSecretToRef",
];

/** Words that CEL has for itself: a rule cannot name a field that is called like one. */
export const wordsOfCel: readonly string[] = [
  ..."as break const continue else false for function if import in let loop".split(" "),
  ..."namespace null package return true var void while".split(" "),
];

/** Lists all names in a table that something else already has. */
export function takenNames(file: unknown, others: readonly OtherService[]): readonly Problem[] {
  const type = textAt(file, "metadata", "name");
  const kind = textAt(file, "spec", "claim", "kind");
  const fields = Object.keys(recordAt(file, "spec", "claim", "fields"));
  const parameters = placedNames(listAt(file, "spec", "parameters"), "spec.parameters", "name");
  const taken = (field: string, value: string | undefined, expected: string): Problem => ({
    field,
    value: valueText(value),
    expected,
  });
  return [
    ...(others.some((other) => other.type === type)
      ? [taken("metadata.name", type, "another name; a service of this type is there already")]
      : []),
    ...(others.some((other) => other.kind === kind) || sharedKinds.some((shared) => shared === kind)
      ? [taken("spec.claim.kind", kind, "another kind; this one is there already")]
      : []),
    ...fields
      .filter((name) => [...commonFields, ...fieldsOfCrossplane].includes(name))
      .map((name) =>
        taken(`spec.claim.fields.${name}`, name, "another name; every claim has a field of this one"),
      ),
    ...fields
      .filter((name) => !/^[a-z][A-Za-z0-9]*$/.test(name) || wordsOfCel.includes(name))
      .map((name) => taken(`spec.claim.fields.${name}`, name, "a name in camel case, and no word of CEL")),
    ...parameters
      .filter(({ text }) => wordsOfCel.includes(text))
      .map(({ text, field }) => taken(field, text, "another name; in CEL it is a word of the language")),
  ];
}
