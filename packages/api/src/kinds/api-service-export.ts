/** APIServiceExport: the schema of an API as one app cluster gets it. */
import type { Condition, KubeObject } from "@klutch/kube-core";
import {
  anyObject,
  boolean,
  type CustomResourceDefinition,
  customResourceDefinition,
  described,
  integer,
  list,
  object,
  oneOf,
  type Schema,
  string,
} from "@klutch/schema";
import { bindGroup } from "../names.ts";
import { ageColumn, bindCategories, conditions, readyColumn, readyMessageColumn } from "./common.ts";
import { type PermissionClaim, permissionClaim } from "./permission-claim.ts";

/** Names of a CRD. */
export interface CrdNames {
  readonly kind: string;
  readonly plural: string;
  readonly singular?: string | undefined;
  readonly listKind?: string | undefined;
  readonly shortNames?: readonly string[] | undefined;
  readonly categories?: readonly string[] | undefined;
}

/** A printer column of a CRD. */
export interface ExportColumn {
  readonly name: string;
  readonly type: string;
  readonly jsonPath: string;
  readonly description?: string | undefined;
  readonly format?: string | undefined;
  readonly priority?: number | undefined;
}

/** One version of the exported kind. */
export interface ExportVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly schema: { readonly openAPIV3Schema: Readonly<Record<string, unknown>> };
  readonly deprecated?: boolean | undefined;
  readonly deprecationWarning?: string | undefined;
  readonly subresources?:
    | {
        readonly status?: Readonly<Record<string, unknown>> | undefined;
        readonly scale?:
          | {
              readonly specReplicasPath: string;
              readonly statusReplicasPath: string;
              readonly labelSelectorPath?: string | undefined;
            }
          | undefined;
      }
    | undefined;
  readonly additionalPrinterColumns?: readonly ExportColumn[] | undefined;
  /** Fields by which objects may be selected (Kubernetes 1.31). */
  readonly selectableFields?: readonly { readonly jsonPath: string }[] | undefined;
}

/** Scope of the agent's watches: each service namespace, or the whole provider cluster. */
export type InformerScope = "Cluster" | "Namespaced";
/** Separation of cluster-scoped objects of different app clusters. */
export type ClusterScopedIsolation = "Prefixed" | "Namespaced" | "None";

export interface APIServiceExportSpec {
  readonly group: string;
  readonly names: CrdNames;
  readonly scope: "Cluster" | "Namespaced";
  readonly versions: readonly ExportVersion[];
  readonly informerScope: InformerScope;
  readonly clusterScopedIsolation?: ClusterScopedIsolation | undefined;
  readonly permissionClaims?: readonly PermissionClaim[] | undefined;
}

export interface APIServiceExportStatus {
  readonly acceptedNames?: CrdNames | undefined;
  readonly storedVersions?: readonly string[] | undefined;
  readonly conditions?: readonly Condition[] | undefined;
}

/** Lives in the cluster namespace, named like the CRD. */
export interface APIServiceExport extends KubeObject {
  readonly spec: APIServiceExportSpec;
  readonly status?: APIServiceExportStatus | undefined;
}

/** Names of a kind, as a CRD has them. */
export const crdNames: Schema<CrdNames> = object(
  { kind: string({ description: "The kind." }), plural: string({ description: "The resource in URLs." }) },
  {
    singular: string({ description: "The resource for one object." }),
    listKind: string({ description: "The kind of a list." }),
    shortNames: list(string(), { listType: "atomic", description: "Short names for kubectl." }),
    categories: list(string(), { listType: "atomic", description: "Groups of kinds for kubectl get." }),
  },
  { description: "Names of the kind, as its CustomResourceDefinition has them." },
);

type VersionOption =
  | "deprecated"
  | "deprecationWarning"
  | "subresources"
  | "additionalPrinterColumns"
  | "selectableFields";

/** Optional fields of a version, in a CRD and in an export alike. */
export const versionOptions: {
  readonly [K in VersionOption]: Schema<Exclude<ExportVersion[K], undefined>>;
} = {
  deprecated: boolean({ description: "The API server warns who uses this version." }),
  deprecationWarning: string({ description: "The warning in place of the usual one." }),
  subresources: object(
    {},
    {
      status: anyObject({ description: "Present when status is written apart from the rest." }),
      scale: object(
        {
          specReplicasPath: string({ description: "JSON path of the wanted number of replicas." }),
          statusReplicasPath: string({ description: "JSON path of the present number of replicas." }),
        },
        {
          labelSelectorPath: string({
            description: "JSON path of a label selector of the replicas, as text.",
          }),
        },
        { description: "Present when kubectl scale works on objects." },
      ),
    },
    { description: "Which parts of objects are served at addresses of their own." },
  ),
  additionalPrinterColumns: list(
    object(
      {
        name: string({ description: "Title of the column." }),
        type: string({ description: "Type of its values: string, integer, number, boolean or date." }),
        jsonPath: string({ description: "JSON path of the value in an object." }),
      },
      {
        description: string({ description: "What the column shows." }),
        format: string({ description: "OpenAPI format of its values, such as int32." }),
        priority: integer({
          format: "int32",
          description: "Columns with a priority greater than 0 are shown by -o wide only. Default 0.",
        }),
      },
    ),
    { listType: "map", mapKeys: ["name"], description: "Columns of kubectl get." },
  ),
  selectableFields: list(
    object({ jsonPath: string({ description: "JSON path of the field in an object." }) }),
    {
      listType: "atomic",
      description: "Fields by which objects may be selected (Kubernetes 1.31).",
    },
  ),
};

/** One version of an export. */
export const exportVersion: Schema<ExportVersion> = object(
  {
    name: string({
      minLength: 1,
      pattern: "^v[1-9][0-9]*([a-z]+[1-9][0-9]*)?$",
      description: "Name of the version, such as v1 or v1beta2.",
    }),
    served: boolean({ default: true, description: "Whether the API server serves this version." }),
    storage: boolean({ description: "Whether objects are stored in this version; true for exactly one." }),
    schema: object(
      {
        openAPIV3Schema: anyObject({
          mapType: "atomic",
          description: "The structural schema, as the provider's CustomResourceDefinition has it.",
        }),
      },
      {},
      { description: "What objects of this version look like." },
    ),
  },
  versionOptions,
);

/** `spec` of an export, without the rules in CEL. */
export const exportSpec: Schema<APIServiceExportSpec> = object(
  {
    group: string({ description: "API group of the exported kind." }),
    names: crdNames,
    scope: oneOf(["Cluster", "Namespaced"], { description: "Scope of the kind in the app cluster." }),
    versions: list(exportVersion, {
      minItems: 1,
      listType: "map",
      mapKeys: ["name"],
      description: "The versions that the provider serves.",
    }),
    informerScope: oneOf(["Cluster", "Namespaced"], {
      description: "Whether the agent watches the whole provider cluster or each service namespace.",
      rules: [{ rule: "self == oldSelf", message: "informerScope is immutable" }],
    }),
  },
  {
    clusterScopedIsolation: oneOf(["Prefixed", "Namespaced", "None"], {
      description:
        "How cluster-scoped objects of app clusters are named on the provider. Prefixed: the cluster namespace comes before the name. Namespaced: the kind is namespaced there, and objects stand in the cluster namespace. None: they have the same name.",
    }),
    permissionClaims: list(permissionClaim, {
      description:
        "Which other objects of the app cluster the provider wants to read or write for the API. Copied from the template.",
    }),
  },
  {
    description:
      "The kind as the app cluster gets it, and how it is synced. Written by the backend; it follows the CRD and the template.",
    rules: [
      {
        rule: 'self.scope == "Namespaced" || self.informerScope == "Cluster"',
        message: "informerScope must be Cluster for cluster-scoped resources",
      },
      {
        rule: 'self.scope == "Namespaced" || has(self.clusterScopedIsolation)',
        message: "clusterScopedIsolation must be set for cluster-scoped resources",
      },
      {
        rule: 'self.scope == "Cluster" || !has(self.clusterScopedIsolation)',
        message: "clusterScopedIsolation must not be set for namespaced resources",
      },
    ],
  },
);

const status: Schema<APIServiceExportStatus> = object(
  {},
  {
    acceptedNames: described(crdNames, "Names that the CustomResourceDefinition in the app cluster got."),
    storedVersions: list(string(), {
      description: "Versions that objects in the app cluster may be stored in.",
    }),
    conditions,
  },
  { description: "What became of the API in the app cluster. Written by the konnector and the backend." },
);

export const apiServiceExportCrd: CustomResourceDefinition = customResourceDefinition({
  group: bindGroup,
  version: "v1alpha1",
  kind: "APIServiceExport",
  plural: "apiserviceexports",
  scope: "Namespaced",
  categories: bindCategories,
  description: "The schema of an API as it is offered to one app cluster.",
  fields: { spec: exportSpec, status },
  required: ["spec"],
  rules: [
    {
      rule: 'self.metadata.name == self.spec.names.plural + "." + self.spec.group',
      message: "metadata.name must be <plural>.<group>",
    },
  ],
  columns: [
    readyColumn,
    readyMessageColumn,
    {
      name: "Established",
      type: "string",
      jsonPath: '.status.conditions[?(@.type=="Established")].status',
      priority: 5,
    },
    ageColumn,
  ],
});
