/** ProviderConfig of both generations, its usages, and StoreConfig. See docs/reference/provider.md. */
import {
  anyObject,
  boolean,
  type CustomResourceDefinition,
  integer,
  type JsonSchema,
  nullable,
  object,
  oneOf,
  type Schema,
  string,
} from "@klutch/schema";
import type { KubeObject, StandardCondition } from "@klutch/kube-core";
import {
  type ConfigReference,
  configKinds,
  type CrdPair,
  dataservicesCrd,
  managedConditions,
  namespacedDataservicesCrd,
  ownSecretKeySelector,
  referencePolicy,
  type SecretKeyAnywhere,
  type SecretKeySelector,
  secretKeySelector,
} from "./managed-common.ts";

/** Source of one credential. */
export interface CredentialSource<Ref = SecretKeySelector> {
  readonly secretRef?: Ref | undefined;
  readonly env?: { readonly name: string } | undefined;
  readonly fs?: { readonly path: string } | undefined;
}

/** Says who requests to a broker are for. */
export interface ProviderConfigContext {
  readonly kind: "Organization" | "Namespace" | "None";
  /** Needed with `Namespace`. */
  readonly clusterID?: string | undefined;
}

/** Spec of a ProviderConfig or ClusterProviderConfig of either generation. */
export interface ProviderConfigSpec<Ref = SecretKeySelector> {
  /** Base URL of the backend, http or https. */
  readonly url: string;
  readonly serviceType: "servicebroker" | "backupmanager";
  readonly healthCheckEndpoint?: string | undefined;
  /** Default: `Organization`. */
  readonly context?: ProviderConfigContext | undefined;
  readonly providerCredentials: {
    readonly source: "None" | "Secret" | "InjectedIdentity" | "Environment" | "Filesystem";
    readonly username: CredentialSource<Ref>;
    readonly password: CredentialSource<Ref>;
  };
  readonly tls?:
    | {
        readonly insecureSkipVerify?: boolean | undefined;
        readonly caBundleSecretRef?: Ref | undefined;
        readonly overrideServerName?: string | undefined;
      }
    | undefined;
}

export interface ProviderConfigStatus {
  readonly conditions?: readonly StandardCondition[] | undefined;
  readonly users?: number | undefined;
  readonly health?:
    | {
        readonly lastCheckTime?: string | null | undefined;
        readonly lastStatus?: boolean | undefined;
        readonly lastMessage?: string | undefined;
      }
    | undefined;
}

/** ProviderConfig or ClusterProviderConfig of either generation. */
export interface ProviderConfig extends KubeObject {
  readonly spec: ProviderConfigSpec;
  readonly status?: ProviderConfigStatus | undefined;
}

const ofSecret = "The Secret with the value, for the source Secret.";
const whereRead = "Where the value is read:";
const trimmed = "White space around it is dropped.";

/** Credential source of a ProviderConfig that operators write. */
const credential: Schema<CredentialSource<SecretKeyAnywhere>> = object(
  {},
  {
    secretRef: secretKeySelector(ofSecret),
    env: object(
      { name: string({ description: "Name of the variable." }) },
      {},
      { description: "The provider's environment variable with the value, for the source Environment." },
    ),
    fs: object(
      { path: string({ description: "Path of the file." }) },
      {},
      { description: "The file in the provider's pod with the value, for the source Filesystem." },
    ),
  },
  { description: `${whereRead} secretRef, env or fs, as source says. ${trimmed}` },
);

const sourceText = "Where username and password come from. None: the backend asks for none.";

const credentials = object(
  {
    source: oneOf(["None", "Secret", "InjectedIdentity", "Environment", "Filesystem"], {
      description: `${sourceText} InjectedIdentity is not supported.`,
    }),
    username: credential,
    password: credential,
  },
  {},
  { description: "How the provider logs in at the backend: basic authentication." },
);

/** Credential source of a namespaced one, which a tenant may write: it cannot read the provider's files and variables. */
const ownCredential = object(
  {},
  { secretRef: ownSecretKeySelector(ofSecret) },
  { description: `${whereRead} secretRef. ${trimmed}` },
);

const ownCredentials = object(
  {
    source: oneOf(["None", "Secret"], { description: sourceText }),
    username: ownCredential,
    password: ownCredential,
  },
  {},
  { description: "How the provider logs in at the backend: basic authentication." },
);

const backend = {
  url: string({ description: "Base URL of the backend, http or https." }),
  serviceType: oneOf(["servicebroker", "backupmanager"], { description: "What answers at the URL." }),
} as const;

const healthCheckEndpoint = string({
  description:
    "Path that answers 2xx while the backend is healthy. Without it a broker's catalog is read, and a backup manager's /instances.",
});

const context: Schema<ProviderConfigContext> = object(
  {
    kind: oneOf(["Organization", "Namespace", "None"], {
      description:
        "Organization: organization_guid and space_guid, also in the context. Namespace: a context with the namespace of the claim and clusterid instead. None: neither.",
    }),
  },
  {
    clusterID: string({
      description:
        "Sent as clusterid with the kind Namespace: a text that names this control plane at the broker.",
      minLength: 1,
      maxLength: 128,
    }),
  },
  {
    description: "Says to a broker whom an instance or a binding is for. Default: Organization.",
    rules: [
      {
        rule: "self.kind != 'Namespace' || has(self.clusterID)",
        message: "clusterID is required with the kind Namespace",
      },
    ],
  },
);

const tlsOf = <R>(caBundle: (description: string) => Schema<R>) =>
  object(
    {},
    {
      insecureSkipVerify: boolean({
        description:
          "Whether the backend's certificate is not checked. Excludes caBundleSecretRef. Default false.",
      }),
      caBundleSecretRef: caBundle(
        "The Secret with the certificates, in PEM, of the authorities that are trusted. Without it the usual public ones are.",
      ),
      overrideServerName: string({
        description: "Name that the backend's certificate must have. Without it that of the URL.",
      }),
    },
    { description: "How the backend's certificate is checked." },
  );

const specText = "Where a backend is, and how to log in there.";

/** Spec of ProviderConfigs that may name Secrets anywhere. */
const spec: Schema<ProviderConfigSpec<SecretKeyAnywhere>> = object(
  { ...backend, providerCredentials: credentials },
  { healthCheckEndpoint, context, tls: tlsOf(secretKeySelector) },
  { description: `${specText} Written by operators.` },
);

const ownSpec = object(
  { ...backend, providerCredentials: ownCredentials },
  { healthCheckEndpoint, context, tls: tlsOf(ownSecretKeySelector) },
  { description: specText },
);

const status: Schema<ProviderConfigStatus> = object(
  {},
  {
    conditions: managedConditions,
    users: integer({
      format: "int64",
      description: "How many managed resources name it. While there are some, it is not deleted.",
    }),
    health: object(
      {},
      {
        lastCheckTime: nullable(
          string({
            format: "date-time",
            description: "When it was checked last; null asks for a check at once.",
          }),
        ),
        lastStatus: boolean({ description: "Whether the backend answered well." }),
        lastMessage: string({ description: "Available, or what went wrong." }),
      },
      {
        description:
          "Whether the backend answers. Checked every three minutes; while it does not, soon at first and every half minute in the end.",
      },
    ),
  },
  { description: "How the backend is. Written by the provider." },
);

const configColumns = [
  { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp" },
  {
    name: "SECRET-NAME",
    type: "string",
    jsonPath: ".spec.providerCredentials.password.secretRef.name",
    priority: 1,
  },
  { name: "HEALTHY", type: "boolean", jsonPath: ".status.health.lastStatus" },
  {
    name: "REGION",
    type: "string",
    jsonPath: ".metadata.labels.klutch\\.anynines\\.com/region",
    priority: 1,
  },
  { name: "USERS", type: "integer", jsonPath: ".status.users", priority: 1 },
] as const;

const providerConfig = {
  kind: "ProviderConfig",
  plural: "providerconfigs",
  required: ["spec"],
  columns: configColumns,
} as const;

/** The second is for managed resources of its own namespace. */
export const providerConfigCrds: CrdPair = {
  cluster: dataservicesCrd({
    ...providerConfig,
    description: "Address and credentials of a backend.",
    fields: { spec, status },
  }),
  namespaced: namespacedDataservicesCrd({
    ...providerConfig,
    scope: "Namespaced",
    description: "Address and credentials of a backend, for managed resources of the same namespace.",
    fields: { spec: ownSpec, status },
  }),
};

/** CRD for managed resources of all namespaces. */
export const clusterProviderConfigCrd: CustomResourceDefinition = namespacedDataservicesCrd({
  ...providerConfig,
  kind: "ClusterProviderConfig",
  plural: "clusterproviderconfigs",
  scope: "Cluster",
  description: "Address and credentials of a backend, for managed resources of all namespaces.",
  fields: { spec, status },
});

export interface ProviderConfigUsage extends KubeObject {
  readonly providerConfigRef: ConfigReference;
  readonly resourceRef: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly uid?: string | undefined;
  };
}

const usedName = string({ description: "Name of the ProviderConfig." });
const usedText = "The ProviderConfig that is used.";

const usage = (providerConfigRef: Schema<never> | { readonly json: JsonSchema }) => ({
  kind: "ProviderConfigUsage",
  plural: "providerconfigusages",
  description:
    "A managed resource that uses a ProviderConfig. Written by the provider; goes with the resource.",
  required: ["providerConfigRef", "resourceRef"],
  statusSubresource: false,
  categories: ["crossplane", "provider", "anynines"],
  fields: {
    providerConfigRef,
    resourceRef: object(
      {
        apiVersion: string({ description: "Group and version of the managed resource." }),
        kind: string({ description: "Kind of the managed resource." }),
        name: string({ description: "Name of the managed resource." }),
      },
      { uid: string({ description: "UID of the managed resource." }) },
      { description: "The managed resource that uses it." },
    ),
  },
  columns: [
    { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp" },
    { name: "CONFIG-NAME", type: "string", jsonPath: ".providerConfigRef.name" },
    { name: "RESOURCE-KIND", type: "string", jsonPath: ".resourceRef.kind" },
    { name: "RESOURCE-NAME", type: "string", jsonPath: ".resourceRef.name" },
  ] as const,
});

/** That of a namespaced managed resource is always beside it: garbage collection removes nothing cluster-scoped for a namespaced owner. */
export const providerConfigUsageCrds: CrdPair = {
  cluster: dataservicesCrd(
    usage(object({ name: usedName }, { policy: referencePolicy }, { description: usedText })),
  ),
  namespaced: namespacedDataservicesCrd({
    ...usage(
      object(
        { kind: oneOf(configKinds, { description: "Its kind." }), name: usedName },
        {},
        { description: usedText },
      ),
    ),
    scope: "Namespaced",
  }),
};

export const storeConfigCrd: CustomResourceDefinition = dataservicesCrd({
  kind: "StoreConfig",
  plural: "storeconfigs",
  description: "Not used: connection details are published to Secrets only.",
  required: ["spec"],
  categories: ["crossplane", "store", "gcp"],
  fields: {
    spec: object(
      { defaultScope: string({ description: "Not used." }) },
      {
        type: oneOf(["Kubernetes", "Vault", "Plugin"], { default: "Kubernetes", description: "Not used." }),
        kubernetes: anyObject({ description: "Not used." }),
        plugin: object(
          {},
          {
            endpoint: string({ description: "Not used." }),
            configRef: object(
              {
                apiVersion: string({ description: "Not used." }),
                kind: string({ description: "Not used." }),
                name: string({ description: "Not used." }),
              },
              {},
              { description: "Not used." },
            ),
          },
          { description: "Not used." },
        ),
      },
      { description: "Accepted for manifests that have it; nothing reads it." },
    ),
    status: object({}, { conditions: managedConditions }, { description: "Nothing writes it." }),
  },
  columns: [
    { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp" },
    { name: "TYPE", type: "string", jsonPath: ".spec.type" },
    { name: "DEFAULT-SCOPE", type: "string", jsonPath: ".spec.defaultScope" },
  ],
});
