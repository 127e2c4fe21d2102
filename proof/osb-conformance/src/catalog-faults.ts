/** What is wrong with a catalog, by rule. Pure. */
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
export interface CatalogFault {
  readonly rule: RuleId;
  readonly why: string;
}

const guid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const cliFriendly = /^[A-Za-z0-9.-]+$/;
const semanticVersion =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;
const largestSchema = 64 * 1024;

const isFlag = (value: unknown): boolean => typeof value === "boolean";
const isDuration = (value: unknown): boolean => Number.isInteger(value);
const offeringTypes: Readonly<Record<string, (value: unknown) => boolean>> = {
  tags: isTextList,
  requires: (value) =>
    isTextList(value) &&
    value.every((name) => ["syslog_drain", "route_forwarding", "volume_mount"].includes(name)),
  instances_retrievable: isFlag,
  bindings_retrievable: isFlag,
  allow_context_updates: isFlag,
  plan_updateable: isFlag,
  metadata: isObject,
};
const planTypes: Readonly<Record<string, (value: unknown) => boolean>> = {
  metadata: isObject,
  free: isFlag,
  bindable: isFlag,
  binding_rotatable: isFlag,
  plan_updateable: isFlag,
  schemas: isObject,
  maximum_polling_duration: isDuration,
  maintenance_info: isObject,
};

export function catalogFaults(body: unknown): readonly CatalogFault[] {
  const { services } = objectOf(body);
  if (!Array.isArray(services)) return [{ rule: "catalog-services", why: "services is not a list" }];
  const offerings = services.map(objectOf);
  const plans = offerings.flatMap((offering) => listOf(offering["plans"]).map(objectOf));
  return [
    ...offerings.flatMap((offering, index) => offeringFaults(offering, `services[${index}]`)),
    ...repeated("offering-names", "name", offerings),
    ...repeated("catalog-ids", "id", [...offerings, ...plans]),
  ];
}

function offeringFaults(offering: Json, place: string): readonly CatalogFault[] {
  const plans = listOf(offering["plans"]);
  return [
    ...textFaults("offering-fields", offering, place),
    ...(isFlag(offering["bindable"])
      ? []
      : [{ rule: "offering-fields", why: `${place}.bindable is missing or no truth value` } as const]),
    ...(plans.length > 0
      ? []
      : [{ rule: "offering-plans", why: `${place}.plans is empty or no list` } as const]),
    ...typeFaults(offering, offeringTypes, place),
    ...nameFaults(offering, place),
    ...plans.flatMap((plan, index) => planFaults(objectOf(plan), `${place}.plans[${index}]`)),
    ...repeated("plan-names", "name", plans.map(objectOf)),
  ];
}

function planFaults(plan: Json, place: string): readonly CatalogFault[] {
  const { maintenance_info: maintenance, schemas } = plan;
  const version = objectOf(maintenance)["version"];
  const hasVersion = typeof version === "string" && semanticVersion.test(version);
  return [
    ...textFaults("plan-fields", plan, place),
    ...typeFaults(plan, planTypes, place),
    ...nameFaults(plan, place),
    ...(maintenance === undefined || hasVersion
      ? []
      : [
          {
            rule: "catalog-maintenance",
            why: `${place}.maintenance_info.version is no semantic version`,
          } as const,
        ]),
    ...schemaFaults(objectOf(schemas), `${place}.schemas`),
  ];
}

function schemaFaults(schemas: Json, place: string): readonly CatalogFault[] {
  const places = [
    ["service_instance", "create"],
    ["service_instance", "update"],
    ["service_binding", "create"],
  ] as const;
  return places.flatMap(([object, verb]) => {
    const { parameters } = objectOf(objectOf(schemas[object])[verb]);
    const why = parameters === undefined ? undefined : schemaFault(parameters);
    return why === undefined
      ? []
      : [{ rule: "catalog-schemas", why: `${place}.${object}.${verb}.parameters ${why}` } as const];
  });
}

function schemaFault(schema: unknown): string | undefined {
  if (!isObject(schema)) return "is no object";
  if (!isText(schema["$schema"])) return "has no $schema";
  const text = JSON.stringify(schema);
  if (Buffer.byteLength(text) > largestSchema) return "is larger than 64 kB";
  return /"\$ref":"[^#"]/.test(text) ? "refers to something outside of itself" : undefined;
}

function textFaults(
  rule: "offering-fields" | "plan-fields",
  object: Json,
  place: string,
): readonly CatalogFault[] {
  return ["name", "id", "description"].flatMap((field) =>
    isText(object[field]) ? [] : [{ rule, why: `${place}.${field} is missing, empty or no text` }],
  );
}

function typeFaults(
  object: Json,
  types: Readonly<Record<string, (value: unknown) => boolean>>,
  place: string,
): readonly CatalogFault[] {
  return Object.entries(types).flatMap(([field, is]) =>
    isOptional(object[field], is)
      ? []
      : [{ rule: "catalog-types", why: `${place}.${field} is not what it is defined as` } as const],
  );
}

function nameFaults({ name, id }: Json, place: string): readonly CatalogFault[] {
  return [
    ...(isText(name) && !cliFriendly.test(name)
      ? [{ rule: "catalog-names", why: `${place}.name is hard to type` } as const]
      : []),
    ...(isText(id) && !guid.test(id)
      ? [{ rule: "catalog-guids", why: `${place}.id is no GUID` } as const]
      : []),
  ];
}

function repeated(
  rule: "offering-names" | "plan-names" | "catalog-ids",
  field: "name" | "id",
  objects: readonly Json[],
): readonly CatalogFault[] {
  const values = objects.map((object) => object[field]).filter(isText);
  const twice = values.find((value, index) => values.indexOf(value) !== index);
  return twice === undefined ? [] : [{ rule, why: `two have the ${field} ${JSON.stringify(twice)}` }];
}
