/** Lists the faults of a catalog by rule. Pure. */
import { type Json, isObject, isOptional, isText, isTextList, listOf, objectOf } from "@klutch/osb/internal";
import type { RuleId } from "./rules.ts";

/** Rules that a catalog alone decides. */
export const catalogRules: readonly RuleId[] = [
  "catalog-services",
  "offering-fields",
  "offering-names",
  "offering-plans",
  "plan-fields",
  "plan-names",
  "catalog-ids",
  "catalog-types",
  "catalog-maintenance",
  "catalog-schemas",
  "catalog-names",
  "catalog-guids",
];

/** A fault names the place, never more than one value. */
interface CatalogFault {
  readonly rule: RuleId;
  readonly why: string;
}

const guid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const cliFriendly = /^[A-Za-z0-9.-]+$/;
const semanticVersion =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;
const largestSchema = 64 * 1024;

type Types = Readonly<Record<string, (value: unknown) => boolean>>;

const isFlag = (value: unknown): boolean => typeof value === "boolean";
const permissions: readonly unknown[] = ["syslog_drain", "route_forwarding", "volume_mount"];
const offeringTypes: Types = {
  tags: isTextList,
  requires: (value) => Array.isArray(value) && value.every((name) => permissions.includes(name)),
  instances_retrievable: isFlag,
  bindings_retrievable: isFlag,
  allow_context_updates: isFlag,
  plan_updateable: isFlag,
  metadata: isObject,
};
const planTypes: Types = {
  metadata: isObject,
  free: isFlag,
  bindable: isFlag,
  binding_rotatable: isFlag,
  plan_updateable: isFlag,
  schemas: isObject,
  maximum_polling_duration: Number.isInteger,
  maintenance_info: isObject,
};

type Expect = (rule: RuleId, holds: boolean, why: string) => void;

/** Lists the faults of a catalog. */
export function catalogFaults(body: unknown): readonly CatalogFault[] {
  const faults: CatalogFault[] = [];
  const expect: Expect = (rule, holds, why) => {
    if (!holds) faults.push({ rule, why });
  };
  const { services } = objectOf(body);
  expect("catalog-services", Array.isArray(services), "services is not a list");
  const offerings = listOf(services).map(objectOf);
  const plans = offerings.flatMap((offering) => listOf(offering["plans"]).map(objectOf));
  for (const [index, offering] of offerings.entries()) checkOffering(expect, offering, `services[${index}]`);
  checkUnique(expect, "offering-names", "name", offerings);
  checkUnique(expect, "catalog-ids", "id", [...offerings, ...plans]);
  return faults;
}

function checkOffering(expect: Expect, offering: Json, place: string): void {
  const plans = listOf(offering["plans"]).map(objectOf);
  checkTexts(expect, "offering-fields", offering, place);
  const { bindable } = offering;
  expect("offering-fields", isFlag(bindable), `${place}.bindable is missing or no truth value`);
  expect("offering-plans", plans.length > 0, `${place}.plans is empty or no list`);
  checkTypes(expect, offering, offeringTypes, place);
  for (const [index, plan] of plans.entries()) checkPlan(expect, plan, `${place}.plans[${index}]`);
  checkUnique(expect, "plan-names", "name", plans);
}

function checkPlan(expect: Expect, plan: Json, place: string): void {
  checkTexts(expect, "plan-fields", plan, place);
  checkTypes(expect, plan, planTypes, place);
  const hasVersion = isOptional(plan["maintenance_info"], (info) =>
    semanticVersion.test(String(objectOf(info)["version"])),
  );
  expect("catalog-maintenance", hasVersion, `${place}.maintenance_info.version is no semantic version`);
  const places = [
    ["service_instance", "create"],
    ["service_instance", "update"],
    ["service_binding", "create"],
  ] as const;
  for (const [object, verb] of places) {
    const { parameters } = objectOf(objectOf(objectOf(plan["schemas"])[object])[verb]);
    const why = parameters === undefined ? undefined : schemaFault(parameters);
    const where = `${place}.schemas.${object}.${verb}.parameters`;
    expect("catalog-schemas", why === undefined, `${where} ${why}`);
  }
}

function schemaFault(schema: unknown): string | undefined {
  if (!isObject(schema)) return "is no object";
  if (!isText(schema["$schema"])) return "has no $schema";
  const text = JSON.stringify(schema);
  if (Buffer.byteLength(text) > largestSchema) return "is larger than 64 kB";
  return /"\$ref":"[^#"]/.test(text) ? "refers to something outside of itself" : undefined;
}

/** Checks the fields that identify an offering or a plan. */
function checkTexts(expect: Expect, rule: RuleId, object: Json, place: string): void {
  for (const field of ["name", "id", "description"])
    expect(rule, isText(object[field]), `${place}.${field} is missing, empty or no text`);
  const { name, id } = object;
  expect("catalog-names", !isText(name) || cliFriendly.test(name), `${place}.name is hard to type`);
  expect("catalog-guids", !isText(id) || guid.test(id), `${place}.id is no GUID`);
}

function checkTypes(expect: Expect, object: Json, types: Types, place: string): void {
  for (const [field, is] of Object.entries(types))
    expect("catalog-types", isOptional(object[field], is), `${place}.${field} is not what it is defined as`);
}

function checkUnique(expect: Expect, rule: RuleId, field: "name" | "id", objects: readonly Json[]): void {
  const values = objects.map((object) => object[field]).filter(isText);
  const twice = values.find((value, index) => values.indexOf(value) !== index);
  expect(rule, twice === undefined, `two have the ${field} ${JSON.stringify(twice)}`);
}
