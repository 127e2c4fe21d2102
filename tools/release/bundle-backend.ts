/**
 * Makes the backend of the bundles, whose settings of a site come from a ConfigMap and a Secret, and the bundle with these and other settings of a
 * site. Values are written as `${NAME}`: by hand or by envsubst they become those of the site. One that is forgotten is refused by the API server where
 * it can be, and never becomes a password: those are base64, which `${NAME}` is not.
 */
import { type ArtefactName, providerConfigs } from "@klutch/api";
import { apiVersionOf, type KubeObject } from "@klutch/kube-core";
import {
  backupConfigName,
  type DataService,
  exportTemplatesOf,
  legacy,
  providerConfigName,
} from "@klutch/services";
import { backendDeployment, backendName } from "../generate/backend-manifests.ts";
import { manifestsIn } from "../generate/manifests.ts";

/** Returns its Deployment, with the arguments and variables of a site. */
export function siteDeployment(image: (name: ArtefactName) => string): KubeObject {
  const settings = ["OIDC_ISSUER_URL", "OIDC_CLIENT_ID", "PUBLIC_URL", "API_SERVER_URL"];
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
      ...settings.map((name) => variable(name, "configMapKeyRef")),
      ...["OIDC_CLIENT_SECRET", "COOKIE_SIGNING_KEY"].map((name) => variable(name, "secretKeyRef")),
    ],
  });
}

/** Returns a variable that the kubelet fills from a key of site.yaml; without it the Pod does not start and says why. */
function variable(name: string, source: "configMapKeyRef" | "secretKeyRef"): object {
  const key = name.toLowerCase().replaceAll("_", "-");
  return { name, valueFrom: { [source]: { name: backendName, key } } };
}

/** Returns the names of the variables that a site must fill in, in their order in the text. */
export function variablesOf(text: string): readonly string[] {
  return [...new Set([...text.matchAll(/\$\{([A-Z][A-Z0-9_]*)\}/g)].map(([, name = ""]) => name))];
}

/** Returns the objects in the order in which they have to be applied: what needs kinds of the provider's package comes last. */
export function configureObjects(services: readonly DataService[]): readonly KubeObject[] {
  const backends = services.flatMap(backendsOf);
  return [
    ...manifestsIn("tools/release/site.yaml", {}),
    ...backends.filter(({ kind }) => kind === "Secret"),
    ...exportTemplatesOf(legacy),
    ...backends.filter(({ kind }) => kind !== "Secret"),
  ];
}

/** Returns credentials and configuration of a service's broker and backup manager; none if no broker makes it. */
function backendsOf({ type, object, others }: DataService): readonly KubeObject[] {
  const isMadeAtBroker = object === undefined || others.some((other) => other.object === undefined);
  if (!isMadeAtBroker) return [];
  return manifestsIn("tools/release/site-service.yaml", {
    API_VERSION: apiVersionOf(providerConfigs),
    KIND: providerConfigs.kind,
    BROKER: providerConfigName(type),
    MANAGER: backupConfigName(type),
    PREFIX: type.toUpperCase(),
  });
}
