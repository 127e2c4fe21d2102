/** Describes the backend in the bundles. Settings of a site come from a ConfigMap and a Secret that `configure` makes. */
import { artefact, type ArtefactOptions, type Manifest } from "@klutch/api";
import { listAt, recordAt, recordsAt } from "@klutch/kube-core";
import { backendDeploymentBase, backendLabels, backendName } from "../generate/backend-manifests.ts";

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

/** Returns its Deployment: the common one with image, arguments and variables. */
export function backendDeployment(
  image: string,
  konnector: Pick<ArtefactOptions, "registry" | "digest">,
): Manifest {
  const spec = recordAt(backendDeploymentBase, "spec");
  const template = recordAt(spec, "template");
  const pod = recordAt(template, "spec");
  const [container = {}] = recordsAt(pod, "containers");
  const args = [
    ...listAt(container, "args"),
    `--konnector-image=${artefact("konnector", konnector)}`,
    "--oidc-issuer-url=$(OIDC_ISSUER_URL)",
    "--oidc-issuer-client-id=$(OIDC_CLIENT_ID)",
    "--oidc-callback-url=$(PUBLIC_URL)/callback",
    "--external-address=$(API_SERVER_URL)",
  ];
  const env = [
    ...listAt(container, "env"),
    ...variables("configMapKeyRef", backendName, backendSettings),
    ...variables("secretKeyRef", backendName, backendSecrets),
  ];
  const containers = [{ ...container, image, args, env }];
  return {
    ...backendDeploymentBase,
    spec: { ...spec, template: { ...template, spec: { ...pod, containers } } },
  };
}

/** Returns variables that the kubelet fills from keys of a ConfigMap or Secret; without it the Pod does not start and says why. */
export function variables(
  source: "configMapKeyRef" | "secretKeyRef",
  of: string,
  keys: Readonly<Record<string, string>>,
): readonly object[] {
  return Object.entries(keys).map(([name, key]) => ({ name, valueFrom: { [source]: { name: of, key } } }));
}
