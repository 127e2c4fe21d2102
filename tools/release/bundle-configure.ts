/**
 * The bundle with what is particular to a site. Values stand as `${NAME}`: by hand or by envsubst they become those of the site. One that is
 * forgotten is refused by the API server where it can be, and never becomes a password: those are base64, which `${NAME}` is not.
 */
import { apiVersionOf, type KubeObject, type ResourceType } from "@klutch/kube-core";
import { type Manifest, providerConfigs } from "@klutch/api";
import {
  backupConfigName,
  type DataService,
  exportTemplatesOf,
  legacy,
  providerConfigName,
} from "@klutch/services";
import { backendName } from "../generate/backend-manifests.ts";
import { backendSecrets, backendSettings, backendService } from "./bundle-backend.ts";

/** Something of a site, as the bundle writes it. */
const site = (name: string): string => `\${${name}}`;

/** Names of what the site has to fill in, in the order in which they stand in a text. */
export function variablesOf(text: string): readonly string[] {
  return [...new Set([...text.matchAll(/\$\{([A-Z][A-Z0-9_]*)\}/g)].map(([, name = ""]) => name))];
}

/** In the order in which they have to be applied: what needs kinds of the provider's package comes last. */
export function configureObjects(services: readonly DataService[]): readonly KubeObject[] {
  const backends = services.flatMap(backendsOf);
  return [
    ...backendConfiguration,
    ingress,
    ...backends.map(({ credentials }) => credentials),
    ...exportTemplatesOf(legacy),
    ...backends.map(({ config }) => config),
  ];
}

const metadata = { name: backendName, namespace: backendName };
const host = site("PUBLIC_HOST");

const settings: Readonly<Record<keyof typeof backendSettings, string>> = {
  OIDC_ISSUER_URL: site("OIDC_ISSUER_URL"),
  OIDC_CLIENT_ID: site("OIDC_CLIENT_ID"),
  PUBLIC_URL: `https://${host}`,
  API_SERVER_URL: site("API_SERVER_URL"),
};

const backendConfiguration: readonly Manifest[] = [
  {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata,
    data: keyed(backendSettings, (name) => settings[name]),
  },
  {
    apiVersion: "v1",
    kind: "Secret",
    metadata,
    data: keyed(backendSecrets, (name) => site(`${name}_BASE64`)),
  },
];

function keyed<Name extends string>(
  keys: Readonly<Record<Name, string>>,
  valueOf: (name: Name) => string,
): Readonly<Record<string, string>> {
  const names = Object.keys(keys).filter((name): name is Name => name in keys);
  return Object.fromEntries(names.map((name) => [keys[name], valueOf(name)]));
}

/** Ends TLS with the certificate of the Secret; whoever has a Gateway writes a route to the Service instead. */
const ingress: KubeObject = {
  apiVersion: "networking.k8s.io/v1",
  kind: "Ingress",
  metadata,
  spec: {
    tls: [{ hosts: [host], secretName: `${backendName}-tls` }],
    rules: [
      {
        host,
        http: {
          paths: [
            {
              path: "/",
              pathType: "Prefix",
              backend: { service: { name: backendService.metadata.name, port: { name: "http" } } },
            },
          ],
        },
      },
    ],
  },
};

/** Broker and backup manager of a service; none of one that no broker makes. */
function backendsOf(
  service: DataService,
): readonly { readonly credentials: Manifest; readonly config: KubeObject }[] {
  const isMadeAtBroker = [service, ...service.others].some(({ object }) => object === undefined);
  if (!isMadeAtBroker) return [];
  const type = service.type.toUpperCase();
  return [
    backend(providerConfigName(service.type), `${type}_BROKER`, {
      serviceType: "servicebroker",
      healthCheckEndpoint: "/osb_ext/v1/healthy",
    }),
    backend(backupConfigName(service.type), `${type}_BACKUP_MANAGER`, {
      serviceType: "backupmanager",
      healthCheckEndpoint: "/v2/healthy",
    }),
  ];
}

/** Where Crossplane and its providers live. */
const crossplaneNamespace = "crossplane-system";

function backend(
  name: string,
  prefix: string,
  spec: object,
): { readonly credentials: Manifest; readonly config: KubeObject } {
  const key = (field: string): unknown => ({
    secretRef: { namespace: crossplaneNamespace, name, key: field },
  });
  return {
    credentials: {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace: crossplaneNamespace },
      data: {
        username: site(`${prefix}_USERNAME_BASE64`),
        password: site(`${prefix}_PASSWORD_BASE64`),
      },
    },
    config: object(providerConfigs, name, {
      url: site(`${prefix}_URL`),
      ...spec,
      providerCredentials: { source: "Secret", username: key("username"), password: key("password") },
    }),
  };
}

function object(type: ResourceType, name: string, spec: object): KubeObject {
  return { apiVersion: apiVersionOf(type), kind: type.kind, metadata: { name }, spec };
}
