/** A CRD of the provider as an export, and an export as a CRD of the app cluster. */
import { canonicalJson, type OwnerReference } from "@klutch/kube-core";
import {
  accepts,
  anyObject,
  boolean,
  type CustomResourceDefinition,
  describeProblem,
  list,
  object,
  oneOf,
  problemsOf,
  type Schema,
  string,
} from "@klutch/schema";
import { base62Hash } from "./hash.ts";
import {
  type APIServiceExportSpec,
  type CrdNames,
  crdNames,
  type ExportVersion,
  exportVersion,
  versionOptions,
} from "./kinds/api-service-export.ts";

/** The part of an export's spec that follows from the CRD. */
export type ExportSnapshot = Pick<APIServiceExportSpec, "group" | "names" | "scope" | "versions">;

/** Fields of a CRD that are read. */
export interface CrdSource {
  readonly metadata: { readonly name?: string | undefined };
  readonly spec?: unknown;
}

type CrdVersion = Omit<ExportVersion, "schema"> & {
  readonly schema?: { readonly openAPIV3Schema?: Readonly<Record<string, unknown>> | undefined } | undefined;
};

interface CrdSpec {
  readonly group: string;
  readonly names: CrdNames;
  readonly scope: "Cluster" | "Namespaced";
  readonly versions: readonly CrdVersion[];
  readonly conversion?: { readonly strategy?: string | undefined } | undefined;
}

const crdVersion: Schema<CrdVersion> = object(
  { name: string(), served: boolean(), storage: boolean() },
  { ...versionOptions, schema: object({}, { openAPIV3Schema: anyObject() }) },
);

const crdSpec: Schema<CrdSpec> = object(
  { group: string(), names: crdNames, scope: oneOf(["Cluster", "Namespaced"]), versions: list(crdVersion) },
  { conversion: object({}, { strategy: string() }) },
);

/** Error about a CRD that cannot be exported. */
export class ExportError extends Error {
  readonly code = "CRDInvalid";
}

/**
 * The snapshot and its hash; `present` are the versions that are exported already. Only served versions are exported; behind a conversion
 * webhook, which the app cluster cannot reach, only one: that of `present` if it is still served, so that claims go on in it; else the
 * storage version if it is served, else the first served one. Exactly one exported version is marked as storage, also when the provider's
 * is not served. Columns of Crossplane that would be empty are left out. Throws `ExportError` when nothing is served, a schema is missing
 * or a version's name is none that exports may have.
 */
export function exportFromCrd(
  crd: CrdSource,
  present: readonly string[] = [],
): { readonly spec: ExportSnapshot; readonly hash: string } {
  const source = crdSpecOf(crd);
  const name = crd.metadata.name ?? "";
  const served = source.versions.filter((version) => version.served);
  const isWebhook = source.conversion?.strategy === "Webhook";
  const inUse = isWebhook ? served.filter((version) => present.includes(version.name)) : [];
  const storage = storedOf(inUse) ?? storedOf(served);
  if (storage === undefined) throw new ExportError(`CustomResourceDefinition ${name} serves no version`);
  const exported = isWebhook ? [storage] : served;
  const versions = exported.map((version) => versionOf(version, version.name === storage.name, name));
  const spec: ExportSnapshot = { group: source.group, names: source.names, scope: source.scope, versions };
  return { spec, hash: base62Hash(canonicalJson(spec)) };
}

function storedOf(served: readonly CrdVersion[]): CrdVersion | undefined {
  return served.find((version) => version.storage) ?? served[0];
}

function crdSpecOf({ metadata, spec }: CrdSource): CrdSpec {
  if (accepts(crdSpec, spec)) return spec;
  const [problem] = problemsOf(crdSpec.json, spec, "spec");
  const why = problem === undefined ? "" : `: ${describeProblem(problem)}`;
  throw new ExportError(`${metadata.name ?? ""} is not a CustomResourceDefinition${why}`);
}

/**
 * Crossplane's columns that would be empty in every app cluster: our Secrets come by a binding's own name, and what Crossplane writes into
 * the spec of a namespaced composite stays on the provider.
 */
const emptyColumns: readonly string[] = [
  ".spec.writeConnectionSecretToRef.name",
  ".spec.crossplane.compositionRef.name",
  ".spec.crossplane.compositionRevisionRef.name",
];

function versionOf(version: CrdVersion, storage: boolean, crdName: string): ExportVersion {
  const schema = version.schema?.openAPIV3Schema;
  if (schema === undefined) {
    throw new ExportError(`version ${version.name} of CustomResourceDefinition ${crdName} has no schema`);
  }
  const { name, deprecated, deprecationWarning, subresources, additionalPrinterColumns, selectableFields } =
    version;
  const exported: ExportVersion = {
    name,
    served: true,
    storage,
    schema: { openAPIV3Schema: schema },
    ...(deprecated === undefined ? {} : { deprecated }),
    ...(deprecationWarning === undefined ? {} : { deprecationWarning }),
    ...(subresources === undefined ? {} : { subresources }),
    ...(additionalPrinterColumns === undefined
      ? {}
      : {
          additionalPrinterColumns: additionalPrinterColumns.filter(
            ({ jsonPath }) => !emptyColumns.includes(jsonPath),
          ),
        }),
    ...(selectableFields === undefined ? {} : { selectableFields }),
  };
  const [problem] = problemsOf(exportVersion.json, exported);
  if (problem === undefined) return exported;
  throw new ExportError(
    `version ${name} of CustomResourceDefinition ${crdName} cannot be exported: ${describeProblem(problem)}`,
  );
}

/** The CRD that the app cluster gets; `owner` is the APIServiceBinding, in the form the existing plugin reads. */
export function crdFromExport(
  spec: ExportSnapshot,
  owner?: OwnerReference,
): CustomResourceDefinition & {
  readonly metadata: { readonly name: string; readonly ownerReferences?: readonly OwnerReference[] };
} {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${spec.names.plural}.${spec.group}`,
      ...(owner === undefined ? {} : { ownerReferences: [owner] }),
    },
    spec: {
      group: spec.group,
      names: spec.names,
      scope: spec.scope,
      versions: spec.versions,
      conversion: { strategy: "None" },
    },
  };
}
