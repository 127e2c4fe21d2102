/**
 * Makes the bundle with the settings of a site. Values are written as `${NAME}`: by hand or by envsubst they become those of the site. One
 * that is forgotten is refused by the API server where it can be, and never becomes a password: those are base64, which `${NAME}` is not.
 */
import { type Manifest, providerConfigs } from "@klutch/api";
import { apiVersionOf, type KubeObject } from "@klutch/kube-core";
import {
  backupConfigName,
  type DataService,
  exportTemplatesOf,
  legacy,
  providerConfigName,
} from "@klutch/services";
import { backendName } from "../generate/backend-manifests.ts";
import { backendSecrets, backendService, backendSettings } from "./bundle-backend.ts";

/** Returns something of a site, as the bundle writes it. */
const site = (name: string): string => `\${${name}}`;

/** Returns the names of the variables that a site must fill in, in their order in the text. */
export function variablesOf(text: string): readonly string[] {
  return [...new Set([...text.matchAll(/\$\{([A-Z][A-Z0-9_]*)\}/g)].map(([, name = ""]) => name))];
}

/** Returns the objects in the order in which they have to be applied: what needs kinds of the provider's package comes last. */
export function configureObjects(services: readonly DataService[]): readonly KubeObject[] {
  const backends = services.flatMap(backendsOf);
  return [
    ...backendConfiguration,
    ingress,
    ...backends.filter(({ kind }) => kind === "Secret"),
    ...exportTemplatesOf(legacy),
    ...backends.filter(({ kind }) => kind !== "Secret"),
  ];
}

const metadata = { name: backendName, namespace: backendName };
const host = site("PUBLIC_HOST");

const backendConfiguration: readonly Manifest[] = [
  {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata,
    data: keyed(backendSettings, (name) => (name === "PUBLIC_URL" ? `https://${host}` : site(name))),
  },
  {
    apiVersion: "v1",
    kind: "Secret",
    metadata,
    data: keyed(backendSecrets, (name) => site(`${name}_BASE64`)),
  },
];

function keyed(keys: Readonly<Record<string, string>>, valueOf: (name: string) => string): object {
  return Object.fromEntries(Object.entries(keys).map(([name, key]) => [key, valueOf(name)]));
}

/** Ends TLS with the certificate of the Secret; users of a Gateway write a route to the Service instead. */
const ingress: KubeObject = {
  apiVersion: "networking.k8s.io/v1",
  kind: "Ingress",
  metadata,
  spec: {
    tls: [{ hosts: [host], secretName: `${backendName}-tls` }],
    rules: [{ host, http: { paths: [{ path: "/", pathType: "Prefix", backend: serviceBackend() }] } }],
  },
};

function serviceBackend(): object {
  return { service: { name: backendService.metadata.name, port: { name: "http" } } };
}

/** Returns credentials and configuration of a service's broker and backup manager; none if no broker makes it. */
function backendsOf({ type, object, others }: DataService): readonly KubeObject[] {
  const isMadeAtBroker = object === undefined || others.some((other) => other.object === undefined);
  if (!isMadeAtBroker) return [];
  const prefix = type.toUpperCase();
  return [
    ...backend(providerConfigName(type), `${prefix}_BROKER`, "servicebroker", "/osb_ext/v1/healthy"),
    ...backend(backupConfigName(type), `${prefix}_BACKUP_MANAGER`, "backupmanager", "/v2/healthy"),
  ];
}

/** Namespace of Crossplane and its providers. */
const namespace = "crossplane-system";

function backend(
  name: string,
  prefix: string,
  serviceType: string,
  healthCheckEndpoint: string,
): readonly (KubeObject | Manifest)[] {
  const [username, password] = ["username", "password"].map((key) => ({
    secretRef: { namespace, name, key },
  }));
  return [
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace },
      data: {
        username: site(`${prefix}_USERNAME_BASE64`),
        password: site(`${prefix}_PASSWORD_BASE64`),
      },
    },
    {
      apiVersion: apiVersionOf(providerConfigs),
      kind: providerConfigs.kind,
      metadata: { name },
      spec: {
        url: site(`${prefix}_URL`),
        serviceType,
        healthCheckEndpoint,
        providerCredentials: { source: "Secret", username, password },
      },
    },
  ];
}
