/** A CRD of the provider as an export, and an export as a CRD of the app cluster. Source: reference/bind.md §4.7, §5.2. */
import type { CustomResourceDefinition } from "@klutch/schema";
import { base62Hash, canonicalJson } from "./hash.ts";
import type { APIServiceExportSpec, CrdNames, ExportVersion } from "./kinds/api-service-export.ts";
import type { OwnerReference } from "./kinds/common.ts";

/** The part of an export's spec that follows from the CRD. */
export type ExportSnapshot = Pick<APIServiceExportSpec, "group" | "names" | "scope" | "versions">;

/** What is read of a CRD. */
export interface CrdSource {
  readonly metadata: { readonly name?: string | undefined };
  readonly spec?: unknown;
}

interface CrdVersion extends ExportVersion {
  readonly selectableFields?: unknown;
}

interface CrdSpec {
  readonly group: string;
  readonly names: CrdNames;
  readonly scope: "Cluster" | "Namespaced";
  readonly versions: readonly CrdVersion[];
  readonly conversion?: { readonly strategy?: string | undefined } | undefined;
}

/** Why a CRD cannot be exported. */
export class ExportError extends Error {
  readonly code = "CRDInvalid";
}

/**
 * The snapshot and its hash. Only served versions are exported; behind a conversion webhook, which the app cluster cannot reach,
 * only one: the storage version if it is served, else the first served one. Exactly one exported version is marked as storage,
 * also when the provider's is not served (B24). Throws `ExportError` when nothing is served or a schema is missing.
 */
export function exportFromCrd(crd: CrdSource): { readonly spec: ExportSnapshot; readonly hash: string } {
  const source = crdSpecOf(crd);
  const name = crd.metadata.name ?? "";
  const served = source.versions.filter((version) => version.served);
  const storage = served.find((version) => version.storage) ?? served[0];
  if (storage === undefined) throw new ExportError(`CustomResourceDefinition ${name} serves no version`);
  const exported = source.conversion?.strategy === "Webhook" ? [storage] : served;
  const versions = exported.map((version) => exportVersion(version, version.name === storage.name, name));
  const spec: ExportSnapshot = { group: source.group, names: source.names, scope: source.scope, versions };
  return { spec, hash: base62Hash(canonicalJson(spec)) };
}

function crdSpecOf(crd: CrdSource): CrdSpec {
  const { spec } = crd;
  if (typeof spec !== "object" || spec === null || !("versions" in spec) || !Array.isArray(spec.versions)) {
    throw new ExportError(`${crd.metadata.name ?? ""} is not a CustomResourceDefinition`);
  }
  // The API server validated it; the field names are those of apiextensions.k8s.io/v1.
  return spec as unknown as CrdSpec;
}

function exportVersion(version: CrdVersion, storage: boolean, crdName: string): ExportVersion {
  const schema = version.schema?.openAPIV3Schema;
  if (schema === undefined) {
    throw new ExportError(`version ${version.name} of CustomResourceDefinition ${crdName} has no schema`);
  }
  const { name, deprecated, deprecationWarning, subresources, additionalPrinterColumns } = version;
  return {
    name,
    served: true,
    storage,
    schema: { openAPIV3Schema: schema },
    ...(deprecated === undefined ? {} : { deprecated }),
    ...(deprecationWarning === undefined ? {} : { deprecationWarning }),
    ...(subresources === undefined ? {} : { subresources }),
    ...(additionalPrinterColumns === undefined ? {} : { additionalPrinterColumns }),
  };
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
