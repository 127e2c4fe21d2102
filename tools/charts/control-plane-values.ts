/** Lists the values of the chart for the control plane. */
import { backendProgram } from "@klutch/backend";
import type { Registry } from "@klutch/api";
import { backendName, backendResources, backendSpread } from "../generate/backend-manifests.ts";
import { firstValues, lastValues } from "./shared-values.ts";
import {
  oneOf,
  optionalNumber,
  parts,
  rows,
  text,
  textMap,
  texts,
  toggle,
  type Value,
  type ValueTable,
  wholeNumber,
} from "./value.ts";

/** Secrets are named and not known here, so no checksum can restart the Pods. */
const readAtStart = "which is read when a Pod starts: `kubectl rollout restart` after a change";

const login = rows({
  publicUrl: text(
    "URL at which people and app clusters reach the backend; `https://` and the host of Ingress or Gateway when it is empty.",
  ),
  prettyName: flagText("pretty-name"),
  oidc: "The login. With `controlPlaneMode` it may be left out.",
  "oidc.issuerUrl": flagText("oidc-issuer-url", "https URL of the identity provider."),
  "oidc.clientId": flagText(
    "oidc-issuer-client-id",
    "Client ID at the identity provider, with the redirect URL `<publicUrl>/callback`.",
  ),
  "oidc.secretName": text(`Secret in \`${backendName}\` with the client secret, ${readAtStart}.`),
  "oidc.secretKey": text("Key of the client secret in it.", "client-secret"),
  "oidc.ca": text(
    "CA certificates of the identity provider in PEM, when public authorities do not vouch for it.",
  ),
  "oidc.authorizeUrl": flagText("oidc-authorize-url"),
  "oidc.allowedRedirects": texts(
    "URLs besides a person's own machine that a login may return to.",
    "allowed-redirect",
  ),
  cookies: "The keys of the cookies of a login, the same for all replicas.",
  "cookies.secretName": text(`Secret in \`${backendName}\` with the keys, ${readAtStart}.`),
  "cookies.signingKey": text(
    "Key in it of what signs cookies: 32 or 64 bytes in base64, encoded once more by the Secret.",
    "signing-key",
  ),
  "cookies.encryptionKey": text(
    "Key in it of what encrypts cookies: 16, 24 or 32 bytes in base64; it may be missing in the Secret.",
    "encryption-key",
  ),
});

const tenants = rows({
  apiServer: "How app clusters reach the API server of this control plane.",
  "apiServer.address": flagText(
    "external-address",
    "https URL of the API server as app clusters reach it; required.",
  ),
  "apiServer.ca": text("CA certificates of that address in PEM; those that Pods use when it is empty."),
  "apiServer.serverName": flagText("external-server-name"),
  tenants: "What app clusters may do and how many there may be.",
  "tenants.consumerScope": flagChoice("consumer-scope", ["Namespaced", "Cluster"]),
  "tenants.clusterScopedIsolation": flagChoice("cluster-scoped-isolation", [
    "Prefixed",
    "Namespaced",
    "None",
  ]),
  "tenants.namespacePrefix": flagText("namespace-prefix"),
  "tenants.credentialLifetime": flagText("credential-lifetime"),
  "tenants.maxClusters": flagNumber("max-clusters"),
  "tenants.maxClustersPerUser": flagNumber("max-clusters-per-user"),
  "tenants.maxNamespacesPerCluster": flagNumber("max-namespaces-per-cluster"),
  "tenants.maxRequestsPerCluster": flagNumber("max-requests-per-cluster"),
  controlPlaneMode: toggle(
    "Serve AppClusterBindings: konnectors that run here, beside the backend.",
    false,
    "control-plane-mode",
  ),
  konnectorImage: text("Image of those konnectors; the one of this release when it is empty."),
  allowedImagePrefixes: texts(
    "Beginnings of images that overrides of an AppClusterBinding may name; the repository of `konnectorImage` when it is empty.",
    "allowed-image-prefix",
  ),
  verbosity: optionalNumber("More than 2 also logs what helps to find a fault.", { flag: "v" }),
});

const network = rows({
  tls: "The certificate of the public URL. TLS ends at the Ingress when there is one, else at the backend.",
  "tls.secretName": text(
    "Secret of the type kubernetes.io/tls that you keep; a renewed one is taken without a restart.",
  ),
  "tls.certManager": "cert-manager makes and renews the certificate; its kinds must be there.",
  "tls.certManager.enabled": toggle("Make a Certificate."),
  "tls.certManager.issuerRef": "Who signs.",
  "tls.certManager.issuerRef.name": text("Name of the issuer."),
  "tls.certManager.issuerRef.kind": oneOf("Its kind.", ["Issuer", "ClusterIssuer"], "ClusterIssuer"),
  service: "The Service in front of the Pods.",
  "service.type": oneOf("Who reaches it.", ["ClusterIP", "NodePort", "LoadBalancer"], "ClusterIP"),
  "service.port": optionalNumber(
    "Its port; 443 where the backend ends TLS and 80 where it does not, when it is null.",
    { minimum: 1, maximum: 65_535 },
  ),
  "service.annotations": textMap("Its annotations."),
  ingress: "An Ingress in front of the Service.",
  "ingress.enabled": toggle("Make an Ingress."),
  "ingress.className": text("Its class; the cluster's default when it is empty."),
  "ingress.host": text("Host of the public URL; required with `ingress.enabled`."),
  "ingress.annotations": textMap("Its annotations."),
  gateway: "An HTTPRoute of a Gateway that ends TLS; the kinds of the Gateway API must be there.",
  "gateway.enabled": toggle("Make an HTTPRoute."),
  "gateway.host": text("Host of the public URL; required with `gateway.enabled`."),
  "gateway.parentRefs": parts("The Gateways; at least one with `gateway.enabled`.", "ParentReference"),
  "gateway.annotations": textMap("Its annotations."),
  networkPolicy: "Who reaches the Pods, and whom they reach.",
  "networkPolicy.enabled": toggle("Make a NetworkPolicy.", true),
  "networkPolicy.from": parts("Who reaches the login; everybody when it is empty.", "NetworkPolicyPeer"),
  "networkPolicy.metricsFrom": parts("Who reads the metrics; nobody when it is empty.", "NetworkPolicyPeer", [
    { namespaceSelector: {} },
  ]),
  "networkPolicy.egress": parts(
    "Whom the Pods reach: name server, API server and identity provider are needed; everybody when it is empty.",
    "NetworkPolicyEgressRule",
  ),
});

const packages = rows({
  crds: "The kinds of Klutch. Helm installs them where they are missing, and never upgrades them.",
  "crds.check": toggle(
    "Refuse to go on while the cluster has kinds of an older release, and say how to upgrade them.",
    true,
  ),
  packages:
    "Klutch's Crossplane packages; Crossplane must be there. They stay when the chart is removed, and databases with them.",
  "packages.enabled": toggle("Install Provider and Function."),
  "packages.claims": toggle(
    "Install the Configuration with claims, whose composites are cluster-scoped.",
    true,
  ),
  "packages.namespacedClaims": toggle(
    "Install the Configuration with claims that are namespaced composites.",
  ),
  "packages.tag": text("Tag of the packages; the chart's own version when it is empty."),
  "packages.runtimeConfigName": text(
    "DeploymentRuntimeConfig of Provider and Function; Crossplane's default when it is empty.",
  ),
});

/** Returns the values in the order of values.yaml; images come from `registry`. */
export const controlPlaneValues = (registry: Registry): ValueTable => [
  ...firstValues("backend", registry, backendName),
  ...rows({ replicas: wholeNumber("How many Pods answer; one of them controls.", 2) }),
  ...login,
  ...tenants,
  ...network,
  ...packages,
  ...lastValues({ resources: backendResources(), spread: backendSpread() }),
];

/** Returns the flag's own sentence. */
function helpOf(flag: string): string {
  return `${backendProgram.flags[flag]?.help ?? ""}.`;
}

function standardOf(flag: string): string {
  return backendProgram.flags[flag]?.default ?? "";
}

function flagText(flag: string, about = helpOf(flag)): Value {
  return text(about, standardOf(flag), flag);
}

function flagChoice(flag: string, allowed: readonly string[]): Value {
  return oneOf(helpOf(flag), allowed, standardOf(flag), flag);
}

function flagNumber(flag: string): Value {
  return wholeNumber(helpOf(flag), Number(standardOf(flag)), flag);
}
