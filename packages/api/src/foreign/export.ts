/**
 * An APIServiceExport as a stranger wrote it. What comes out is either a spec that the rest may trust or a sentence why there is none:
 * no other part reads exports. The server that they come from belongs to the other side, so its own validation proves nothing.
 */
import { isDnsLabel, listAt, plainText, recordAt, valueAt } from "@klutch/kube-core";
import { accepts, describeProblem, problemsOf } from "@klutch/schema";
import { freeWords, isTakenSingular } from "../built-in-words.ts";
import {
  type APIServiceExportSpec,
  type APIServiceExportStatus,
  type CrdNames,
  crdNames,
  exportSpec,
  type ExportVersion,
} from "../kinds/api-service-export.ts";
import { observedGenerationAnnotation } from "../names.ts";
import { readyConditionOf } from "../ready-condition.ts";
import { secretNameFieldOf } from "../secret-name-field.ts";
import { checkApiName } from "./api-name.ts";
import { conditionsOf, type ForeignName, nameOf, withoutNulls } from "./read.ts";
import { withHarmlessWords } from "./schema-words.ts";
import { overweight, type WeightLimits } from "./weight.ts";

/** An export that was read. */
export type ForeignExport = ForeignName & {
  /** Usable part of its status. */
  readonly status: APIServiceExportStatus;
  /** Generations in the statuses of this API say nothing about the spec that they were made for. Default false. */
  readonly ignoresGenerations?: boolean | undefined;
  /** Path of the field with the name of the object's Secret. Default: the status says it in Klutch's own place. */
  readonly secretNameField?: string | undefined;
  /** Type of the condition that stands for `Ready`. Default: `Ready` itself. */
  readonly readyCondition?: string | undefined;
} & (
    | { readonly spec: APIServiceExportSpec; readonly problem?: undefined }
    /** Reason why it is not used. */
    | { readonly spec?: undefined; readonly problem: string }
  );

/** An API server keeps no object of more than some 1.5 MiB, and no schema of an API that people use is nested like this. */
const specLimits: WeightLimits = { depth: 128, nodes: 200_000, characters: 2 * 1024 * 1024 };
const versionLimit = 64;
const nameListLimit = 64;
const claimLimit = 128;
const kind = /^[A-Za-z]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?$/;
/** Part of the schema's own language, where null may mean something. */
const opaque: ReadonlySet<string> = new Set(["openAPIV3Schema"]);

/** Reads one. Never throws, whatever the value is. */
export function parseExport(object: unknown): ForeignExport {
  const secretNameField = secretNameFieldOf(object);
  const readyCondition = readyConditionOf(object);
  const says = valueAt(object, "metadata", "annotations", observedGenerationAnnotation);
  const head = {
    ...nameOf(object),
    status: statusOf(valueAt(object, "status")),
    ...(says === "ignore" ? { ignoresGenerations: true } : {}),
    ...(secretNameField === undefined ? {} : { secretNameField }),
    ...(readyCondition === undefined ? {} : { readyCondition }),
  };
  const reading = readSpec(object);
  if ("problem" in reading) return { ...head, problem: `spec: ${reading.problem}` };
  const { spec } = reading;
  const problem = problemOf(spec, head.name);
  if (problem !== undefined) return { ...head, problem };
  if (accepts(exportSpec, spec)) {
    const harmless = harmlessVersions(spec);
    return typeof harmless === "string"
      ? { ...head, problem: harmless }
      : { ...head, spec: known({ ...spec, versions: harmless }) };
  }
  const [first] = problemsOf(exportSpec.json, spec, "spec");
  return {
    ...head,
    problem: first === undefined ? "spec: is not the spec of an APIServiceExport" : describeProblem(first),
  };
}

/** The spec of an export, still of any form but not too heavy to walk through, or why there is none. */
export function readSpec(object: unknown): { readonly spec: unknown } | { readonly problem: string } {
  const spec = valueAt(object, "spec");
  const tooHeavy = overweight(spec, specLimits);
  return tooHeavy === undefined
    ? { spec: withoutNulls(spec, opaque) }
    : { problem: `has ${tooHeavy}, which no API needs` };
}

/** Finds faults that the schema does not find, or words less clearly. */
function problemOf(spec: unknown, name: string): string | undefined {
  const names = recordAt(spec, "names");
  const group = valueAt(spec, "group") ?? "";
  const { plural } = { plural: names["plural"] };
  if (typeof group !== "string" || typeof plural !== "string") return undefined;
  const refusal = checkApiName(group, plural);
  if (refusal !== undefined)
    return `spec.group is ${short(group)} and spec.names.plural ${short(plural)}: ${refusal}`;
  if (name !== `${plural}.${group}`)
    return `spec.names.plural and spec.group: name the API ${plural}.${group}, but the export is called ${short(name)}`;
  return namesProblem(names) ?? countProblem(spec);
}

function namesProblem(names: Readonly<Record<string, unknown>>): string | undefined {
  const wrong = (field: string, value: unknown): string =>
    `spec.names.${field}: is ${short(value)}, expected a DNS label of at most 63 characters`;
  for (const field of ["kind", "listKind", "singular"]) {
    const value = names[field];
    if (typeof value === "string" && value !== "" && !kind.test(value)) return wrong(field, value);
  }
  if (names["kind"] === "") return wrong("kind", "");
  for (const field of ["shortNames", "categories"]) {
    const list = listAt(names, field);
    if (list.length > nameListLimit) return `spec.names.${field}: has more than ${nameListLimit} items`;
    const value = list.find((item) => typeof item === "string" && !isDnsLabel(item));
    if (value !== undefined) return wrong(field, value);
  }
  return undefined;
}

function countProblem(spec: unknown): string | undefined {
  const versions = listAt(spec, "versions");
  if (versions.length > versionLimit) return `spec.versions: has more than ${versionLimit} items`;
  if (listAt(spec, "permissionClaims").length > claimLimit)
    return `spec.permissionClaims: has more than ${claimLimit} items`;
  const names = versions.map((version) => valueAt(version, "name"));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  return typeof twice === "string" ? `spec.versions: has version ${short(twice)} more than once` : undefined;
}

function statusOf(status: unknown): APIServiceExportStatus {
  const acceptedNames = withoutNulls(valueAt(status, "acceptedNames"));
  const storedVersions = listAt(status, "storedVersions").filter((item) => typeof item === "string");
  return {
    ...(valueAt(status, "conditions") === undefined ? {} : { conditions: conditionsOf(status) }),
    ...(accepts(crdNames, acceptedNames) ? { acceptedNames } : {}),
    ...(valueAt(status, "storedVersions") === undefined ? {} : { storedVersions }),
  };
}

/** Just the fields that Klutch knows. */
function known(spec: APIServiceExportSpec): APIServiceExportSpec {
  const { group, names, scope, versions, informerScope, clusterScopedIsolation, permissionClaims } = spec;
  return {
    group,
    names: knownNames(names),
    scope,
    versions: versions.map(knownVersion),
    informerScope,
    ...(clusterScopedIsolation === undefined ? {} : { clusterScopedIsolation }),
    ...(permissionClaims === undefined ? {} : { permissionClaims }),
  };
}

/** The versions with schemas that are safe to show, or why there are none. */
function harmlessVersions({ versions }: APIServiceExportSpec): readonly ExportVersion[] | string {
  const harmless: ExportVersion[] = [];
  for (const [index, version] of versions.entries()) {
    const reading = withHarmlessWords(version.schema.openAPIV3Schema);
    if (reading.problem !== undefined) return `spec.versions[${index}].schema.${reading.problem}`;
    harmless.push({ ...version, schema: { openAPIV3Schema: reading.schema } });
  }
  return harmless;
}

function knownNames({
  kind: single,
  plural,
  singular,
  listKind,
  shortNames,
  categories,
}: CrdNames): CrdNames {
  return {
    kind: single,
    plural,
    ...(singular === undefined || isTakenSingular(singular, plural) ? {} : { singular }),
    ...(listKind === undefined ? {} : { listKind }),
    ...(shortNames === undefined ? {} : { shortNames: freeWords(shortNames) }),
    ...(categories === undefined ? {} : { categories: freeWords(categories) }),
  };
}

function knownVersion(version: ExportVersion): ExportVersion {
  const { name, served, storage, schema, deprecated, deprecationWarning } = version;
  const { subresources, additionalPrinterColumns, selectableFields } = version;
  return {
    name,
    served,
    storage,
    schema: { openAPIV3Schema: schema.openAPIV3Schema },
    ...(deprecated === undefined ? {} : { deprecated }),
    ...(deprecationWarning === undefined ? {} : { deprecationWarning: plainText(deprecationWarning) }),
    ...(subresources === undefined ? {} : { subresources }),
    ...(additionalPrinterColumns === undefined
      ? {}
      : { additionalPrinterColumns: additionalPrinterColumns.map(harmlessColumn) }),
    ...(selectableFields === undefined ? {} : { selectableFields }),
  };
}

/** Its name is the head of a table on people's terminals. */
function harmlessColumn(column: Column): Column {
  const { name, description } = column;
  return {
    ...column,
    name: plainText(name),
    ...(description === undefined ? {} : { description: plainText(description) }),
  };
}

type Column = NonNullable<ExportVersion["additionalPrinterColumns"]>[number];

function short(value: unknown): string {
  const json = JSON.stringify(value);
  return json.length > 80 ? `${json.slice(0, 77)}…` : json;
}
