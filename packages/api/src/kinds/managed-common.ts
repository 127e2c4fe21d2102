/** Defines the common fields of the provider's managed resources: Crossplane's resource models, v1 cluster-scoped and v2 namespaced. */
import type { KubeObject, StandardCondition } from "@klutch/kube-core";
import {
  type CrdOptions,
  type CustomResourceDefinition,
  customResourceDefinition,
  integer,
  type JsonSchema,
  list,
  map,
  object,
  oneOf,
  type PrinterColumn,
  type Schema,
  string,
} from "@klutch/schema";
import { dataservicesGroup, namespacedDataservicesGroup } from "../names.ts";

/** Names a Secret. Namespaced objects may leave the namespace out: only their own counts. */
export interface SecretReference {
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** Names a key of a Secret. See `SecretReference`. */
export interface SecretKeySelector extends SecretReference {
  readonly key: string;
}

/** Names a Secret anywhere. */
type SecretAnywhere = SecretReference & { readonly namespace: string };

/** Names a key of a Secret anywhere. */
export type SecretKeyAnywhere = SecretKeySelector & { readonly namespace: string };

/** Policy for resolving a reference. */
export interface ReferencePolicy {
  readonly resolution?: "Required" | "Optional" | undefined;
  readonly resolve?: "Always" | "IfNotPresent" | undefined;
}

/** Names a StoreConfig, or the ProviderConfig of a cluster-scoped managed resource. */
interface NamedConfigReference {
  readonly name: string;
  readonly policy?: ReferencePolicy | undefined;
}

/** The kinds that a namespaced managed resource may name: one of its own namespace, or one of the cluster. */
export const configKinds = ["ClusterProviderConfig", "ProviderConfig"] as const;

/** Names what has the address of the backend. `kind`: of namespaced managed resources only. */
export interface ConfigReference extends NamedConfigReference {
  readonly kind?: (typeof configKinds)[number] | undefined;
}

/** Fields that Crossplane's provider runtime expects in every managed resource's spec. */
export interface ManagedSpec {
  readonly providerConfigRef?: ConfigReference | undefined;
  /** Policy at deletion; cluster-scoped resources only. */
  readonly deletionPolicy?: "Orphan" | "Delete" | undefined;
  readonly managementPolicies?: readonly ManagementAction[] | undefined;
  readonly writeConnectionSecretToRef?: SecretReference | undefined;
  readonly publishConnectionDetailsTo?:
    | {
        readonly name: string;
        readonly configRef?: NamedConfigReference | undefined;
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

/** Action that a provider may take on the external resource. */
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

const reference = (what: string, description: string): Schema<NamedConfigReference> =>
  object(
    { name: string({ description: `Name of the ${what}.` }) },
    { policy: referencePolicy },
    { default: { name: "default" }, description },
  );

const secretFields = {
  name: string({ description: "Name of the Secret." }),
  namespace: string({ description: "Namespace of the Secret." }),
} as const;

const secretKey = string({ description: "Key of the Secret that holds the value." });

/** A key of a Secret; `description` says what its value is. */
export function secretKeySelector(description: string): Schema<SecretKeyAnywhere> {
  return object({ key: secretKey, ...secretFields }, {}, { description });
}

/** A key of a Secret of the own namespace; `description` says what its value is. */
export function ownSecretKeySelector(description: string): Schema<SecretKeySelector> {
  const namespace = string({
    description: "Namespace of this object, which is the default. Any other is refused.",
  });
  return object({ key: secretKey, name: secretFields.name }, { namespace }, { description });
}

const configText = "The ProviderConfig with the address and credentials of the backend.";
const managementPolicies = list(oneOf(["Observe", "Create", "Update", "Delete", "LateInitialize", "*"]), {
  default: ["*"],
  description:
    "What the provider may do with the external resource: Create, Update and Delete, or * for all. It is always observed.",
});
const connectionSecretText = "The Secret that the credentials are written to. Without it there is none.";

type Fields<T> = { readonly [K in keyof T]-?: Schema<Exclude<T[K], undefined>> };

/** The fields that cluster-scoped kinds have in `spec`. */
const clusterSpecFields: Fields<
  Omit<ManagedSpec, "providerConfigRef" | "writeConnectionSecretToRef"> & {
    readonly providerConfigRef: NamedConfigReference;
    readonly writeConnectionSecretToRef: SecretAnywhere;
  }
> = {
  providerConfigRef: reference("ProviderConfig", configText),
  deletionPolicy: oneOf(["Orphan", "Delete"], {
    default: "Delete",
    description: "Whether the external resource is deleted with this object. Orphan leaves it.",
  }),
  managementPolicies,
  writeConnectionSecretToRef: object(secretFields, {}, { description: connectionSecretText }),
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

/** Fields of namespaced kinds. */
const namespacedSpecFields = {
  providerConfigRef: object(
    { name: string({ description: "Name of the ProviderConfig or ClusterProviderConfig." }) },
    {
      kind: oneOf(configKinds, {
        default: "ClusterProviderConfig",
        description: "Its kind. A ProviderConfig is one of the own namespace.",
      }),
    },
    { default: { kind: "ClusterProviderConfig", name: "default" }, description: configText },
  ),
  managementPolicies,
  writeConnectionSecretToRef: object(
    { name: secretFields.name },
    {},
    { description: `${connectionSecretText} It is in the own namespace.` },
  ),
} as const;

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
    description: "Conditions of the resource, one entry for each aspect.",
  },
);

const managedColumns: readonly PrinterColumn[] = [
  { name: "READY", type: "string", jsonPath: ".status.conditions[?(@.type=='Ready')].status" },
  { name: "SYNCED", type: "string", jsonPath: ".status.conditions[?(@.type=='Synced')].status" },
  { name: "EXTERNAL-NAME", type: "string", jsonPath: ".metadata.annotations.crossplane\\.io/external-name" },
  { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp" },
];

type KindOptions = Pick<CrdOptions, "kind" | "plural" | "fields" | "description"> &
  Partial<Pick<CrdOptions, "required" | "statusSubresource" | "categories" | "columns">>;

/** The CRD of a cluster-scoped kind of the provider. */
export function dataservicesCrd(options: KindOptions): CustomResourceDefinition {
  return customResourceDefinition({ group: dataservicesGroup, version: "v1", scope: "Cluster", ...options });
}

/** The CRD of a kind that goes with the namespaced managed resources. */
export function namespacedDataservicesCrd(
  options: KindOptions & Pick<CrdOptions, "scope">,
): CustomResourceDefinition {
  return customResourceDefinition({ group: namespacedDataservicesGroup, version: "v1", ...options });
}

/** One kind of both generations. */
export interface CrdPair {
  readonly cluster: CustomResourceDefinition;
  readonly namespaced: CustomResourceDefinition;
}

type Field = { readonly json: JsonSchema };

/** The CRDs of a kind of managed resources. `status`: its fields before the conditions. */
export function managedCrds(options: {
  readonly kind: string;
  readonly plural: string;
  readonly description: string;
  readonly forProvider: Field;
  readonly status: Readonly<Record<string, Field>>;
}): CrdPair {
  const { forProvider, status: own, ...names } = options;
  const status = object(
    {},
    { ...own, conditions: managedConditions },
    { description: "How the external resource is. Written by the provider." },
  );
  const description = "What the external resource shall be. Written by Crossplane, usually from a claim.";
  const shared = {
    ...names,
    required: ["spec"],
    categories: ["crossplane", "managed", "anynines"],
    columns: managedColumns,
  };
  const fields = (specFields: Readonly<Record<string, Field>>): CrdOptions["fields"] => ({
    spec: object({ forProvider }, specFields, { description }),
    status,
  });
  return {
    cluster: dataservicesCrd({ ...shared, fields: fields(clusterSpecFields) }),
    namespaced: namespacedDataservicesCrd({
      ...shared,
      scope: "Namespaced",
      fields: fields(namespacedSpecFields),
    }),
  };
}
