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
  referencePolicy,
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
  {
    secretRef: secretKeySelector("The Secret with the value, for the source Secret."),
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
  {
    description:
      "Where the value is read: secretRef, env or fs, as source says. White space around it is dropped.",
  },
);

const spec: Schema<ProviderConfigSpec> = object(
  {
    url: string({ description: "Base URL of the backend, http or https." }),
    serviceType: oneOf(["servicebroker", "backupmanager"], {
      description: "What answers at the URL.",
    }),
    providerCredentials: object(
      {
        source: oneOf(["None", "Secret", "InjectedIdentity", "Environment", "Filesystem"], {
          description:
            "Where username and password come from. None: the backend asks for none. InjectedIdentity is not supported.",
        }),
        username: credential,
        password: credential,
      },
      {},
      { description: "How the provider logs in at the backend: basic authentication." },
    ),
  },
  {
    healthCheckEndpoint: string({
      description:
        "Path that answers 2xx while the backend is healthy. Without it a broker's catalog is read, and a backup manager's /instances.",
    }),
    tls: object(
      {},
      {
        insecureSkipVerify: boolean({
          description:
            "Whether the backend's certificate is not checked. Excludes caBundleSecretRef. Default false.",
        }),
        caBundleSecretRef: secretKeySelector(
          "The Secret with the certificates, in PEM, of the authorities that are trusted. Without it the usual public ones are.",
        ),
        overrideServerName: string({
          description: "Name that the backend's certificate must have. Without it that of the URL.",
        }),
      },
      { description: "How the backend's certificate is checked." },
    ),
  },
  { description: "Where a backend is, and how to log in there. Written by operators." },
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
          "Whether the backend answers. Checked every three minutes, or half a minute while it does not.",
      },
    ),
  },
  { description: "How the backend is. Written by the provider." },
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
  description:
    "A managed resource that uses a ProviderConfig. Written by the provider; goes with the resource.",
  required: ["providerConfigRef", "resourceRef"],
  statusSubresource: false,
  categories: ["crossplane", "provider", "anynines"],
  fields: {
    providerConfigRef: object(
      { name: string({ description: "Name of the ProviderConfig." }) },
      { policy: referencePolicy },
      { description: "The ProviderConfig that is used." },
    ),
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
  ],
});

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
