/** ProviderConfig, its usages, and StoreConfig. See docs/reference/provider.md. */
import {
  anyObject,
  boolean,
  type CustomResourceDefinition,
  integer,
  nullable,
  object,
  oneOf,
  type Schema,
  string,
} from "@klutch/schema";
import type { KubeObject, StandardCondition } from "@klutch/kube-core";
import {
  dataservicesCrd,
  managedConditions,
  type SecretKeySelector,
  secretKeySelector,
} from "./managed-common.ts";

/** Where one credential comes from. */
export interface CredentialSource {
  readonly secretRef?: SecretKeySelector | undefined;
  readonly env?: { readonly name: string } | undefined;
  readonly fs?: { readonly path: string } | undefined;
}

export interface ProviderConfigSpec {
  /** Base URL of the backend, http or https. */
  readonly url: string;
  readonly serviceType: "servicebroker" | "backupmanager";
  readonly healthCheckEndpoint?: string | undefined;
  readonly providerCredentials: {
    readonly source: "None" | "Secret" | "InjectedIdentity" | "Environment" | "Filesystem";
    readonly username: CredentialSource;
    readonly password: CredentialSource;
  };
  readonly tls?:
    | {
        readonly insecureSkipVerify?: boolean | undefined;
        readonly caBundleSecretRef?: SecretKeySelector | undefined;
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

export interface ProviderConfig extends KubeObject {
  readonly spec: ProviderConfigSpec;
  readonly status?: ProviderConfigStatus | undefined;
}

const credential: Schema<CredentialSource> = object(
  {},
  { secretRef: secretKeySelector, env: object({ name: string() }), fs: object({ path: string() }) },
  { description: "Where the credential is read: secretRef, env or fs, as source says." },
);

const spec: Schema<ProviderConfigSpec> = object(
  {
    url: string({ description: "Base URL of the backend." }),
    serviceType: oneOf(["servicebroker", "backupmanager"], { description: "What answers at the URL." }),
    providerCredentials: object({
      source: oneOf(["None", "Secret", "InjectedIdentity", "Environment", "Filesystem"], {
        description: "Where username and password come from.",
      }),
      username: credential,
      password: credential,
    }),
  },
  {
    healthCheckEndpoint: string({ description: "Path that tells whether the backend is healthy." }),
    tls: object(
      {},
      {
        insecureSkipVerify: boolean({ description: "The backend's certificate is not checked." }),
        caBundleSecretRef: secretKeySelector,
        overrideServerName: string({ description: "Name that the backend's certificate must have." }),
      },
      { description: "How the backend's certificate is checked." },
    ),
  },
);

const status: Schema<ProviderConfigStatus> = object(
  {},
  {
    conditions: managedConditions,
    users: integer({ format: "int64", description: "How many managed resources use it." }),
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
    ),
  },
);

export const providerConfigCrd: CustomResourceDefinition = dataservicesCrd({
  kind: "ProviderConfig",
  plural: "providerconfigs",
  description: "Address and credentials of a backend.",
  required: ["spec"],
  fields: { spec, status },
  columns: [
    { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp" },
    {
      name: "SECRET-NAME",
      type: "string",
      jsonPath: ".spec.providerCredentials.password.secretRef.name",
      priority: 1,
    },
    { name: "HEALTHY", type: "boolean", jsonPath: ".status.health.lastStatus" },
  ],
});

export interface ProviderConfigUsage extends KubeObject {
  readonly providerConfigRef: { readonly name: string };
  readonly resourceRef: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly uid?: string | undefined;
  };
}

export const providerConfigUsageCrd: CustomResourceDefinition = dataservicesCrd({
  kind: "ProviderConfigUsage",
  plural: "providerconfigusages",
  description: "A managed resource that uses a ProviderConfig.",
  required: ["providerConfigRef", "resourceRef"],
  statusSubresource: false,
  categories: ["crossplane", "provider", "anynines"],
  fields: {
    providerConfigRef: object(
      { name: string() },
      {
        policy: object(
          {},
          {
            resolution: oneOf(["Required", "Optional"], { default: "Required" }),
            resolve: oneOf(["Always", "IfNotPresent"]),
          },
        ),
      },
    ),
    resourceRef: object({ apiVersion: string(), kind: string(), name: string() }, { uid: string() }),
  },
  columns: [
    { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp" },
    { name: "CONFIG-NAME", type: "string", jsonPath: ".providerConfigRef.name" },
    { name: "RESOURCE-KIND", type: "string", jsonPath: ".resourceRef.kind" },
    { name: "RESOURCE-NAME", type: "string", jsonPath: ".resourceRef.name" },
  ],
});

export const storeConfigCrd: CustomResourceDefinition = dataservicesCrd({
  kind: "StoreConfig",
  plural: "storeconfigs",
  description: "Where connection details are published besides Secrets.",
  required: ["spec"],
  categories: ["crossplane", "store", "gcp"],
  fields: {
    spec: object(
      { defaultScope: string() },
      {
        type: oneOf(["Kubernetes", "Vault", "Plugin"], { default: "Kubernetes" }),
        kubernetes: anyObject(),
        plugin: object(
          {},
          { endpoint: string(), configRef: object({ apiVersion: string(), kind: string(), name: string() }) },
        ),
      },
    ),
    status: object({}, { conditions: managedConditions }),
  },
  columns: [
    { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp" },
    { name: "TYPE", type: "string", jsonPath: ".spec.type" },
    { name: "DEFAULT-SCOPE", type: "string", jsonPath: ".spec.defaultScope" },
  ],
});
