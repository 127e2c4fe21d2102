/**
 * Makes the backend of the bundles, whose settings of a site come from a ConfigMap and a Secret, and the bundle with these and other settings of a
 * site. Values are written as `${NAME}`: by hand or by envsubst they become those of the site. One that is forgotten is refused by the API server where
 * it can be, and never becomes a password: those are base64, which `${NAME}` is not.
 */
import { type ArtefactName, type Manifest, providerConfigs } from "@klutch/api";
import { apiVersionOf, type KubeObject } from "@klutch/kube-core";
import {
  backupConfigName,
  type DataService,
  exportTemplatesOf,
  legacy,
  providerConfigName,
} from "@klutch/services";
import { backendDeployment, backendLabels, backendName } from "../generate/backend-manifests.ts";

/** Keys of the ConfigMap, by the variable of the Pod that they become. */
export const backendSettings = {
  OIDC_ISSUER_URL: "oidc-issuer-url",
  OIDC_CLIENT_ID: "oidc-client-id",
  PUBLIC_URL: "public-url",
  API_SERVER_URL: "api-server-url",
} as const;

/** Keys of the Secret, in the same way. */
export const backendSecrets = {
  OIDC_CLIENT_SECRET: "oidc-client-secret",
  COOKIE_SIGNING_KEY: "cookie-signing-key",
} as const;

/** Its Service. */
export const backendService: Manifest = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: backendName, namespace: backendName, labels: backendLabels },
  spec: {
    type: "ClusterIP",
    selector: backendLabels,
    ports: [{ name: "http", port: 80, targetPort: "login" }],
  },
};

/** Returns its Deployment, with the arguments and variables of a site. */
export function siteDeployment(image: (name: ArtefactName) => string): Manifest {
  return backendDeployment({
    image: image("backend"),
    args: [
      `--konnector-image=${image("konnector")}`,
      "--oidc-issuer-url=$(OIDC_ISSUER_URL)",
      "--oidc-issuer-client-id=$(OIDC_CLIENT_ID)",
      "--oidc-callback-url=$(PUBLIC_URL)/callback",
      "--external-address=$(API_SERVER_URL)",
    ],
    env: [
      ...variables("configMapKeyRef", backendName, backendSettings),
      ...variables("secretKeyRef", backendName, backendSecrets),
    ],
  });
}

/** Returns variables that the kubelet fills from keys of a ConfigMap or Secret; without it the Pod does not start and says why. */
export function variables(
  source: "configMapKeyRef" | "secretKeyRef",
  of: string,
  keys: Readonly<Record<string, string>>,
): readonly object[] {
  return Object.entries(keys).map(([name, key]) => ({ name, valueFrom: { [source]: { name: of, key } } }));
}

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
const service = { name: backendService.metadata.name, port: { name: "http" } };

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
    rules: [{ host, http: { paths: [{ path: "/", pathType: "Prefix", backend: { service } }] } }],
  },
};

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
