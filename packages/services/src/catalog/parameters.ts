/** The parameters of a service's plans as those of one table, and the rules of plans that differ. */
import { isRecord, recordAt } from "@klutch/kube-core";
import { type FieldSchema, fieldOfSchema, warnOfUnchecked } from "./field-of-schema.ts";
import type { Warn } from "./notes.ts";
import type { OfferedPlan } from "./offered-service.ts";
import { parameterName } from "./parameter-name.ts";
import { changeRule, type CelRule, onlyFor, requiredRule, unchangedRule } from "./plan-cel.ts";
import { resolved } from "./references.ts";

/** A parameter of the table. */
export interface CatalogParameter {
  readonly name: string;
  /** Name at the broker. */
  readonly key: string;
  readonly schema: FieldSchema;
}

/** Everything of the table that follows from the schemas of plans. */
export interface CatalogParameters {
  readonly parameters: readonly CatalogParameter[];
  readonly rules: readonly CelRule[];
  /** True if a create without parameters breaks a rule. */
  readonly isAnyRequired: boolean;
}

const mostParameters = 200;
const mostRules = 50;
const mostParts = 2_000;

/** Level of parameters in one JSON Schema. */
interface Level {
  readonly fields: ReadonlyMap<string, FieldSchema | undefined>;
  readonly required: readonly string[];
  /** Parameters that cannot change after creation, by Cloud Service Broker's keyword `prohibitUpdate`. */
  readonly fixed: readonly string[];
  /** True if others are refused. */
  readonly isClosed: boolean;
}

interface PlanLevels {
  readonly plan: string;
  readonly create: Level | undefined;
  readonly update: Level | undefined;
}

/** Reads the schemas of all plans. */
export function catalogParameters(plans: readonly OfferedPlan[], warn: Warn): CatalogParameters {
  const levels = plans.map((plan): PlanLevels => {
    const at = `${plan.field}.schemas.service_instance`;
    return {
      plan: plan.name,
      create: levelOf(plan.schemas.create, `${at}.create.parameters`, warn),
      update: levelOf(plan.schemas.update, `${at}.update.parameters`, warn),
    };
  });
  const parameters = named(levels, plans[0]?.field ?? "plans", warn);
  const required = parameters.flatMap((one) => requiredRule(one, requiringPlans(levels, one.key), plans));
  const rules = [
    ...changeRule(plans),
    ...required,
    ...parameters.flatMap((one) => onlyFor(one, refusingPlans(levels, one.key, "create"), plans)),
    ...parameters.flatMap((one) => unchangedRule(one, keepingPlans(levels, one.key), plans)),
  ];
  const kept = rules.filter(({ cel }) => cel === undefined || cel.expression.length <= 2000);
  if (kept.length < rules.length)
    warn("plans", rules.length - kept.length, "rules name too many plans for a table and are left out");
  if (kept.length > mostRules)
    warn(
      "plans",
      kept.length,
      `a table has at most ${mostRules} rules of a backend; the others are left out`,
    );
  warnOfRequired(levels, parameters, warn);
  return { parameters, rules: kept.slice(0, mostRules), isAnyRequired: required.length > 0 };
}

function levelOf(value: unknown, field: string, warn: Warn): Level | undefined {
  if (value === undefined) return undefined;
  if (!isRecord(value)) return warn(field, value, "expected a JSON Schema; it is ignored");
  const found = resolved(value, value, { refs: [], field, warn });
  if (found === undefined) return undefined;
  const { schema, refs } = found;
  if (schema["type"] !== undefined && schema["type"] !== "object")
    return warn(`${field}.type`, schema["type"], "parameters are an object; the schema is ignored");
  warnOfUnchecked(schema, field, warn);
  const budget = { left: mostParts };
  const fields = new Map<string, FieldSchema | undefined>();
  const entries = Object.entries(recordAt(schema["properties"]));
  if (entries.length > mostParameters)
    warn(
      `${field}.properties`,
      entries.length,
      `a table has at most ${mostParameters}; the others are left out`,
    );
  for (const [key, property] of entries.slice(0, mostParameters)) {
    const place = { field: `${field}.properties.${key}`, refs, depth: 0, lists: 0 };
    fields.set(key, fieldOfSchema(property, place, { root: value, warn, budget }));
  }
  const { required } = schema;
  return {
    fields,
    fixed: entries.filter(([, one]) => isRecord(one) && one["prohibitUpdate"] === true).map(([key]) => key),
    required: Array.isArray(required) ? required.filter((one) => typeof one === "string") : [],
    isClosed: schema["additionalProperties"] === false,
  };
}

/** Gives each parameter of any plan one schema and one name. */
function named(levels: readonly PlanLevels[], field: string, warn: Warn): readonly CatalogParameter[] {
  const all = levels.flatMap(({ create, update }) => [create, update]).filter((one) => one !== undefined);
  const keys = new Set(all.flatMap(({ fields }) => [...fields.keys()]));
  const taken = new Map<string, string>();
  return [...keys].flatMap((key): readonly CatalogParameter[] => {
    const found = all.filter(({ fields }) => fields.has(key)).map(({ fields }) => fields.get(key));
    const schema = common(found, () =>
      warn(field, key, "schemas of this parameter differ; it keeps what they have in common"),
    );
    if (schema === undefined) return [];
    const name = parameterName(key);
    if (name === undefined) {
      warn(field, key, "the parameter has no name in camel case; it is left out");
      return [];
    }
    const before = taken.get(name);
    if (before !== undefined) {
      warn(field, key, `its name ${name} is that of "${before}"; the parameter is left out`);
      return [];
    }
    if (taken.size === mostParameters) {
      warn(field, key, `a table has at most ${mostParameters} parameters; it is left out`);
      return [];
    }
    taken.set(name, key);
    return [{ name, key, schema }];
  });
}

/** The schema that all have; only the type when scalars differ, nothing when others do. */
function common(schemas: readonly (FieldSchema | undefined)[], tell: () => void): FieldSchema | undefined {
  const [first, ...others] = schemas;
  if (first === undefined || others.includes(undefined)) return undefined;
  const bare = ({ about: _about, ...rest }: FieldSchema): string => JSON.stringify(rest);
  if (others.every((one) => one !== undefined && bare(one) === bare(first))) return first;
  tell();
  const { type, about } = first;
  const isAlike = others.every((one) => one?.["type"] === type);
  if (!isAlike || type === "array" || type === "object") return undefined;
  return { type, ...(about === undefined ? {} : { about }) };
}

function requiringPlans(levels: readonly PlanLevels[], key: string): readonly string[] {
  return levels.filter(({ create }) => create?.required.includes(key)).map(({ plan }) => plan);
}

/** Plans whose schema names all its parameters and not this one. */
function refusingPlans(
  levels: readonly PlanLevels[],
  key: string,
  verb: "create" | "update",
): readonly string[] {
  return levels
    .filter(({ [verb]: level }) => level?.isClosed === true && !level.fields.has(key))
    .map(({ plan }) => plan);
}

/** Plans that refuse a change of the parameter. */
function keepingPlans(levels: readonly PlanLevels[], key: string): readonly string[] {
  const refusing = refusingPlans(levels, key, "update");
  const fixing = levels.filter(({ create }) => create?.fixed.includes(key)).map(({ plan }) => plan);
  return [...new Set([...refusing, ...fixing])];
}

function warnOfRequired(
  levels: readonly PlanLevels[],
  parameters: readonly CatalogParameter[],
  warn: Warn,
): void {
  const known = new Set(parameters.map(({ key }) => key));
  for (const { plan, create } of levels)
    for (const key of create?.required ?? [])
      if (!known.has(key))
        warn(
          `required parameter of plan ${plan}`,
          key,
          "it is left out, so no claim can set it; add it by hand",
        );
}
