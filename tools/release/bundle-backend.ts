/** The backend as a Deployment of the bundles. What is particular to a site comes from a ConfigMap and a Secret that `configure` makes. */
import { artefact, type ArtefactOptions, backendPolicyName, type Manifest } from "@klutch/api";

/** Name of everything of the backend, and of its namespace. */
export const backendName: string = backendPolicyName;

/** Where it listens in its Pod. */
const loginPort = 8080;
const probePort = 8081;

const labels = { "app.kubernetes.io/name": backendName };
const metadata = { name: backendName, namespace: backendName, labels };

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
  metadata,
  spec: { selector: labels, ports: [{ name: "http", port: 80, targetPort: "login" }] },
};

/** Its Deployment: two replicas, of which one leads; both serve logins. */
export function backendDeployment(
  image: string,
  konnector: Pick<ArtefactOptions, "registry" | "digest">,
): Manifest {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata,
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: backendName,
          securityContext: restrictedPod,
          containers: [{ ...container(image), args: backendArguments(artefact("konnector", konnector)) }],
        },
      },
    },
  };
}

/** For every Pod of the bundles: the images run as this user, and as nobody else. */
export const restrictedPod: Readonly<Record<string, unknown>> = {
  runAsNonRoot: true,
  runAsUser: 65_532,
  runAsGroup: 65_532,
  fsGroup: 65_532,
  seccompProfile: { type: "RuntimeDefault" },
};

/** For every container of them. */
export const restrictedContainer: Readonly<Record<string, unknown>> = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
};

/** A variable that the kubelet fills from a key of a ConfigMap or Secret; without it the Pod does not start and says why. */
export function variable(
  name: string,
  source: "configMapKeyRef" | "secretKeyRef",
  of: string,
  key: string,
): object {
  return { name, valueFrom: { [source]: { name: of, key } } };
}

function backendArguments(konnectorImage: string): readonly string[] {
  return [
    `--listen-address=:${loginPort}`,
    `--probe-port=${probePort}`,
    "--lease-namespace=$(POD_NAMESPACE)",
    `--konnector-image=${konnectorImage}`,
    "--oidc-issuer-url=$(OIDC_ISSUER_URL)",
    "--oidc-issuer-client-id=$(OIDC_CLIENT_ID)",
    "--oidc-callback-url=$(PUBLIC_URL)/callback",
    "--external-address=$(API_SERVER_URL)",
  ];
}

function container(image: string): Readonly<Record<string, unknown>> {
  const fromField = (name: string, fieldPath: string): unknown => ({
    name,
    valueFrom: { fieldRef: { fieldPath } },
  });
  const probe = (path: string, periodSeconds: number): unknown => ({
    httpGet: { path, port: "probes" },
    periodSeconds,
    timeoutSeconds: 5,
  });
  return {
    name: "backend",
    image,
    env: [
      fromField("POD_NAME", "metadata.name"),
      fromField("POD_NAMESPACE", "metadata.namespace"),
      ...Object.entries(backendSettings).map(([name, key]) =>
        variable(name, "configMapKeyRef", backendName, key),
      ),
      ...Object.entries(backendSecrets).map(([name, key]) =>
        variable(name, "secretKeyRef", backendName, key),
      ),
    ],
    ports: [
      { name: "login", containerPort: loginPort },
      { name: "probes", containerPort: probePort },
    ],
    livenessProbe: probe("/healthz", 10),
    readinessProbe: probe("/readyz", 5),
    resources: { requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "512Mi" } },
    securityContext: restrictedContainer,
  };
}
