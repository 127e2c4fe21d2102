/** What the provider's managed resources share: the fields of Crossplane's resource model v1. */
import type { KubeObject, StandardCondition } from "@klutch/kube-core";
import {
  type CrdOptions,
  type CustomResourceDefinition,
  customResourceDefinition,
  integer,
  list,
  map,
  object,
  oneOf,
  type PrinterColumn,
  type Schema,
  string,
} from "@klutch/schema";
import { dataservicesGroup } from "../names.ts";

/** Names a Secret. */
export interface SecretReference {
  readonly name: string;
  readonly namespace: string;
}

/** Names a key of a Secret. */
export interface SecretKeySelector extends SecretReference {
  readonly key: string;
}

/** How a reference is resolved. */
export interface ReferencePolicy {
  readonly resolution?: "Required" | "Optional" | undefined;
  readonly resolve?: "Always" | "IfNotPresent" | undefined;
}

/** Names a ProviderConfig or StoreConfig. */
export interface ConfigReference {
  readonly name: string;
  readonly policy?: ReferencePolicy | undefined;
}

/** What Crossplane's provider runtime expects in every managed resource's spec. */
export interface ManagedSpec {
  readonly providerConfigRef?: ConfigReference | undefined;
  readonly deletionPolicy?: "Orphan" | "Delete" | undefined;
  readonly managementPolicies?: readonly ManagementAction[] | undefined;
  readonly writeConnectionSecretToRef?: SecretReference | undefined;
  readonly publishConnectionDetailsTo?:
    | {
        readonly name: string;
        readonly configRef?: ConfigReference | undefined;
        readonly metadata?:
          | {
              readonly annotations?: Readonly<Record<string, string>> | undefined;
              readonly labels?: Readonly<Record<string, string>> | undefined;
              readonly type?: string | undefined;
            }
          | undefined;
      }
    | undefined;
}

/** What a provider may do with the external resource. */
export type ManagementAction = "Observe" | "Create" | "Update" | "Delete" | "LateInitialize" | "*";

/** A managed resource of any kind. */
export interface ManagedResource extends KubeObject {
  readonly spec: ManagedSpec;
  readonly status?: { readonly conditions?: readonly StandardCondition[] | undefined } | undefined;
}

/** Accepted in manifests that have it; the provider always resolves by name. */
export const referencePolicy: Schema<ReferencePolicy> = object(
  {},
  {
    resolution: oneOf(["Required", "Optional"], { default: "Required", description: "Not used." }),
    resolve: oneOf(["Always", "IfNotPresent"], { description: "Not used." }),
  },
  { description: "Not used: the reference is read each time, and must resolve." },
);

const reference = (what: string, description: string): Schema<ConfigReference> =>
  object(
    { name: string({ description: `Name of the ${what}.` }) },
    { policy: referencePolicy },
    { default: { name: "default" }, description },
  );

const secretFields = {
  name: string({ description: "Name of the Secret." }),
  namespace: string({ description: "Namespace of the Secret." }),
} as const;

/** A key of a Secret; `description` says what its value is. */
export function secretKeySelector(description: string): Schema<SecretKeySelector> {
  return object(
    { key: string({ description: "Key of the Secret that holds the value." }), ...secretFields },
    {},
    { description },
  );
}

/** The fields of `ManagedSpec`, to be spread into a kind's spec. */
export const managedSpecFields: {
  readonly [K in keyof ManagedSpec]-?: Schema<Exclude<ManagedSpec[K], undefined>>;
} = {
  providerConfigRef: reference(
    "ProviderConfig",
    "The ProviderConfig with the address and credentials of the backend.",
  ),
  deletionPolicy: oneOf(["Orphan", "Delete"], {
    default: "Delete",
    description: "Whether the external resource is deleted with this object. Orphan leaves it.",
  }),
  managementPolicies: list(oneOf(["Observe", "Create", "Update", "Delete", "LateInitialize", "*"]), {
    default: ["*"],
    description:
      "What the provider may do with the external resource: Create, Update and Delete, or * for all. It is always observed.",
  }),
  writeConnectionSecretToRef: object(
    secretFields,
    {},
    { description: "The Secret that the credentials are written to. Without it there is none." },
  ),
  publishConnectionDetailsTo: object(
    { name: string({ description: "Not used." }) },
    {
      configRef: reference("StoreConfig", "Not used."),
      metadata: object(
        {},
        {
          annotations: map(string(), { description: "Not used." }),
          labels: map(string(), { description: "Not used." }),
          type: string({ description: "Not used." }),
        },
        { description: "Not used." },
      ),
    },
    { description: "Not used: credentials are written to Secrets only." },
  ),
};

export const managedConditions: Schema<readonly StandardCondition[]> = list(
  object(
    {
      type: string({ description: "The aspect." }),
      status: string({ description: "True, False or Unknown." }),
      lastTransitionTime: string({ format: "date-time", description: "When the status changed last." }),
      reason: string({ description: "Why, in one word." }),
    },
    {
      message: string({ description: "Why, for people." }),
      observedGeneration: integer({
        format: "int64",
        description: "The metadata.generation that the condition is about.",
      }),
    },
  ),
  {
    listType: "map",
    mapKeys: ["type"],
    description: "What is known about the resource, one entry for each aspect.",
  },
);

/** What `spec` and `status` of a managed resource are. */
export const managedSpecText =
  "What the external resource shall be. Written by Crossplane, usually from a claim.";
/** See `managedSpecText`. */
export const managedStatusText = "How the external resource is. Written by the provider.";

const managedColumns: readonly PrinterColumn[] = [
  { name: "READY", type: "string", jsonPath: ".status.conditions[?(@.type=='Ready')].status" },
  { name: "SYNCED", type: "string", jsonPath: ".status.conditions[?(@.type=='Synced')].status" },
  { name: "EXTERNAL-NAME", type: "string", jsonPath: ".metadata.annotations.crossplane\\.io/external-name" },
  { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp" },
];

/** The CRD of a cluster-scoped kind of the provider. */
export function dataservicesCrd(
  options: Pick<CrdOptions, "kind" | "plural" | "fields" | "description" | "required" | "statusSubresource"> &
    Partial<Pick<CrdOptions, "categories" | "columns">>,
): CustomResourceDefinition {
  return customResourceDefinition({ group: dataservicesGroup, version: "v1", scope: "Cluster", ...options });
}

/** The CRD of a managed resource. */
export function managedCrd(
  options: Pick<CrdOptions, "kind" | "plural" | "fields" | "description">,
): CustomResourceDefinition {
  return dataservicesCrd({
    ...options,
    required: ["spec"],
    categories: ["crossplane", "managed", "anynines"],
    columns: managedColumns,
  });
}
