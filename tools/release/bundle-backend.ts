/** The backend as a Deployment of the bundles. What is particular to a site comes from a ConfigMap and a Secret that `configure` makes. */
import { artefact, type ArtefactOptions, type Manifest } from "@klutch/api";
import { listAt, recordAt, recordsAt } from "@klutch/kube-core";
import { backendDeploymentBase, backendLabels, backendName } from "../generate/backend-manifests.ts";

const metadata = { name: backendName, namespace: backendName, labels: backendLabels };

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
  spec: {
    type: "ClusterIP",
    selector: backendLabels,
    ports: [{ name: "http", port: 80, targetPort: "login" }],
  },
};

/** Its Deployment. */
export function backendDeployment(
  image: string,
  konnector: Pick<ArtefactOptions, "registry" | "digest">,
): Manifest {
  const spec = recordAt(backendDeploymentBase, "spec");
  const pod = recordAt(spec, "template", "spec");
  const [container = {}] = recordsAt(pod, "containers");
  const ours = {
    ...container,
    image,
    args: [...listAt(container, "args"), ...backendArguments(artefact("konnector", konnector))],
    env: [...listAt(container, "env"), ...variables()],
  };
  return {
    ...backendDeploymentBase,
    spec: { ...spec, template: { ...recordAt(spec, "template"), spec: { ...pod, containers: [ours] } } },
  };
}

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
    `--konnector-image=${konnectorImage}`,
    "--oidc-issuer-url=$(OIDC_ISSUER_URL)",
    "--oidc-issuer-client-id=$(OIDC_CLIENT_ID)",
    "--oidc-callback-url=$(PUBLIC_URL)/callback",
    "--external-address=$(API_SERVER_URL)",
  ];
}

function variables(): readonly object[] {
  return [
    ...Object.entries(backendSettings).map(([name, key]) =>
      variable(name, "configMapKeyRef", backendName, key),
    ),
    ...Object.entries(backendSecrets).map(([name, key]) => variable(name, "secretKeyRef", backendName, key)),
  ];
}
