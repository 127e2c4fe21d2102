/** Rules of parameters say which value broke them. */
import { isRecord, listAt, recordAt, textAt } from "@klutch/kube-core";
import type { JsonSchema } from "@klutch/schema";
import { tellingNumber } from "./rule-text.ts";

/** The schema of a parameter, in which rules of numbers tell the number, also of numbers in fields of an object. */
export function toldSchema(schema: JsonSchema): JsonSchema {
  const { type, properties } = schema;
  if (isRecord(properties)) {
    const fields = Object.entries(properties).map(([name, field]) => [
      name,
      isRecord(field) ? toldSchema(field) : field,
    ]);
    return { ...schema, properties: Object.fromEntries(fields) };
  }
  const rules = listAt(schema, "x-kubernetes-validations");
  if ((type !== "integer" && type !== "number") || rules.length === 0) return schema;
  return { ...schema, "x-kubernetes-validations": rules.map(toldNumber) };
}

function toldNumber(rule: unknown): unknown {
  const [text, message] = [textAt(rule, "rule"), textAt(rule, "message")];
  if (text === undefined || message === undefined || textAt(rule, "messageExpression") !== undefined)
    return rule;
  return tellingNumber({ ...recordAt(rule), rule: text, message });
}
