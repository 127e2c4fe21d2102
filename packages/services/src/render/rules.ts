/** The rules of a table as CEL of a claim's spec. A plan's name says its size, its shape and its variant. */
import type { Rule } from "@klutch/schema";
import type { Backend, ServiceTable, Size, TableRule } from "../table/service-table.ts";

/** The CEL rules of a backend, in the order of the table. */
export function rulesOf({ sizes, fields }: ServiceTable, { rules = [] }: Backend): readonly Rule[] {
  const optional = ["acceptsIncomplete", "parameters", ...fields.map(({ name }) => name)];
  return rules.flatMap((rule) =>
    [...rulesOfKind(rule, sizes, optional)].map(
      ([text, message, parameter = ""]): Rule => ({
        rule: text,
        message: (rule.message ?? message).replaceAll("{parameter}", parameter),
      }),
    ),
  );
}

/** A CEL expression and its own words, and the parameter that it is about. */
type Worded = readonly [rule: string, message: string, parameter?: string];

function rulesOfKind(
  rule: TableRule,
  sizes: readonly Size[],
  optional: readonly string[],
): readonly Worded[] {
  const { keeps, never, immutable, planNeeds, serviceNeeds, parametersNeed, cel } = rule;
  if (rule.neverSmaller !== undefined) return [neverSmaller(sizes)];
  if (keeps !== undefined) return [keptWord(keeps)];
  if (never !== undefined) return [impossibleChange(never)];
  if (immutable !== undefined) return [unchanged(immutable.field, optional.includes(immutable.field))];
  if (planNeeds !== undefined) return [servicesOfPlan(planNeeds)];
  if (serviceNeeds !== undefined) return [planOfService(serviceNeeds)];
  if (parametersNeed !== undefined)
    return parametersNeed.parameters.map((name) => planOfParameter(name, parametersNeed.word));
  return cel === undefined ? [] : [[cel.expression, cel.expression]];
}

const has = (plan: string, word: string): string => `${plan}.contains("${word}")`;

function neverSmaller(sizes: readonly Size[]): Worded {
  const rank = (plan: string): string => {
    const steps = sizes.slice(0, -1).map(({ word }, index) => `${has(plan, `-${word}`)} ? ${index} : `);
    return `(${steps.join("")}${Math.max(0, sizes.length - 1)})`;
  };
  return [
    `${rank("self.plan")} >= ${rank("oldSelf.plan")}`,
    "Transition from bigger to smaller plan size is not supported.",
  ];
}

function keptWord({ word, title }: NonNullable<TableRule["keeps"]>): Worded {
  return [
    `${has("self.plan", word)} == ${has("oldSelf.plan", word)}`,
    `Plan migrations not possible from Non-${title} to ${title} and ${title} to Non-${title}`,
  ];
}

function impossibleChange({ from, to }: NonNullable<TableRule["never"]>): Worded {
  return [
    `!(${has("self.plan", to)} && ${has("oldSelf.plan", from)})`,
    `Migration from ${from} to ${to} Data Service Instance is not supported.`,
  ];
}

function unchanged(field: string, isOptional: boolean): Worded {
  const same = `self.${field} == oldSelf.${field}`;
  return [
    isOptional ? `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || ${same})` : same,
    `${field} cannot be changed`,
  ];
}

function servicesOfPlan({ word, services }: NonNullable<TableRule["planNeeds"]>): Worded {
  const [first = "", ...others] = services;
  const names = services.map((name) => `"${name}"`).join(", ");
  const isOne = others.length === 0 ? `self.service == "${first}"` : `self.service in [${names}]`;
  return [
    `!${has("self.plan", word)} || ${isOne}`,
    `Plans with ${word} are only supported by ${services.join(", ")}`,
  ];
}

function planOfService({ service, word }: NonNullable<TableRule["serviceNeeds"]>): Worded {
  return [
    `self.service != "${service}" || ${has("self.plan", word)}`,
    `${service} only supports ${word} plans`,
  ];
}

function planOfParameter(name: string, word: string): Worded {
  return [
    `!has(self.parameters) || !has(self.parameters.${name}) || ${has("self.plan", word)}`,
    `parameters.{parameter} is only supported for ${word} plans`,
    name,
  ];
}
