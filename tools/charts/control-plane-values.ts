/** The values of the chart for the control plane. */
import { backendProgram } from "@klutch/backend";
import type { Registry } from "@klutch/api";
import { backendResources, backendSpread } from "../generate/backend-manifests.ts";
import { disruptionValues, imageValues, monitorValues, namespaceValues, podValues } from "./shared-values.ts";
import {
  type ChartValue,
  oneOf,
  optionalNumber,
  parts,
  text,
  textMap,
  texts,
  toggle,
  type ValueTable,
  wholeNumber,
} from "./value.ts";

/** The namespace of the backend, its account and its lease. */
export const controlPlaneNamespace = "klutch-backend";

/** Secrets are named and not known here, so no checksum can restart the Pods. */
const readAtStart = "which is read when a Pod starts: `kubectl rollout restart` after a change";

const login: ValueTable = [
  text({
    path: "publicUrl",
    about:
      "URL at which people and app clusters reach the backend; `https://` and the host of Ingress or Gateway when it is empty.",
  }),
  flagText("prettyName", "pretty-name"),
  { path: "oidc", about: "The login. With `controlPlaneMode` it may be left out." },
  flagText("oidc.issuerUrl", "oidc-issuer-url", "https URL of the identity provider."),
  flagText(
    "oidc.clientId",
    "oidc-issuer-client-id",
    "Client ID at the identity provider, with the redirect URL `<publicUrl>/callback`.",
  ),
  text({
    path: "oidc.secretName",
    about: `Secret in \`${controlPlaneNamespace}\` with the client secret, ${readAtStart}.`,
  }),
  text({ path: "oidc.secretKey", about: "Key of the client secret in it." }, "client-secret"),
  text({
    path: "oidc.ca",
    about: "CA certificates of the identity provider in PEM, when public authorities do not vouch for it.",
  }),
  flagText("oidc.authorizeUrl", "oidc-authorize-url"),
  texts({
    path: "oidc.allowedRedirects",
    flag: "allowed-redirect",
    about: "URLs besides a person's own machine that a login may return to.",
  }),
  { path: "cookies", about: "The keys of the cookies of a login, the same for all replicas." },
  text({
    path: "cookies.secretName",
    about: `Secret in \`${controlPlaneNamespace}\` with the keys, ${readAtStart}.`,
  }),
  text(
    {
      path: "cookies.signingKey",
      about: "Key in it of what signs cookies: 32 or 64 bytes in base64, encoded once more by the Secret.",
    },
    "signing-key",
  ),
  text(
    {
      path: "cookies.encryptionKey",
      about:
        "Key in it of what encrypts cookies: 16, 24 or 32 bytes in base64; it may be missing in the Secret.",
    },
    "encryption-key",
  ),
];

const tenants: ValueTable = [
  { path: "apiServer", about: "How app clusters reach the API server of this control plane." },
  flagText(
    "apiServer.address",
    "external-address",
    "https URL of the API server as app clusters reach it; required.",
  ),
  text({
    path: "apiServer.ca",
    about: "CA certificates of that address in PEM; those that Pods use when it is empty.",
  }),
  flagText("apiServer.serverName", "external-server-name"),
  { path: "tenants", about: "What app clusters may do and how many there may be." },
  flagChoice("tenants.consumerScope", "consumer-scope", ["Namespaced", "Cluster"]),
  flagChoice("tenants.clusterScopedIsolation", "cluster-scoped-isolation", [
    "Prefixed",
    "Namespaced",
    "None",
  ]),
  flagText("tenants.namespacePrefix", "namespace-prefix"),
  flagText("tenants.credentialLifetime", "credential-lifetime"),
  flagNumber("tenants.maxClusters", "max-clusters"),
  flagNumber("tenants.maxClustersPerUser", "max-clusters-per-user"),
  flagNumber("tenants.maxNamespacesPerCluster", "max-namespaces-per-cluster"),
  flagNumber("tenants.maxRequestsPerCluster", "max-requests-per-cluster"),
  toggle({
    path: "controlPlaneMode",
    flag: "control-plane-mode",
    about: "Serve AppClusterBindings: konnectors that run here, beside the backend.",
  }),
  text({
    path: "konnectorImage",
    about: "Image of those konnectors; the one of this release when it is empty.",
  }),
  texts({
    path: "allowedImagePrefixes",
    flag: "allowed-image-prefix",
    about:
      "Beginnings of images that overrides of an AppClusterBinding may name; the repository of `konnectorImage` when it is empty.",
  }),
  optionalNumber(
    { path: "verbosity", flag: "v", about: "More than 2 also logs what helps to find a fault." },
    0,
  ),
];

const network: ValueTable = [
  {
    path: "tls",
    about:
      "The certificate of the public URL. TLS ends at the Ingress when there is one, else at the backend.",
  },
  text({
    path: "tls.secretName",
    about: "Secret of the type kubernetes.io/tls that you keep; a renewed one is taken without a restart.",
  }),
  {
    path: "tls.certManager",
    about: "cert-manager makes and renews the certificate; its kinds must be there.",
  },
  toggle({ path: "tls.certManager.enabled", about: "Make a Certificate." }),
  { path: "tls.certManager.issuerRef", about: "Who signs." },
  text({ path: "tls.certManager.issuerRef.name", about: "Name of the issuer." }),
  oneOf(
    { path: "tls.certManager.issuerRef.kind", about: "Its kind." },
    ["Issuer", "ClusterIssuer"],
    "ClusterIssuer",
  ),
  { path: "service", about: "The Service in front of the Pods." },
  oneOf(
    { path: "service.type", about: "Who reaches it." },
    ["ClusterIP", "NodePort", "LoadBalancer"],
    "ClusterIP",
  ),
  optionalNumber(
    {
      path: "service.port",
      about: "Its port; 443 where the backend ends TLS and 80 where it does not, when it is null.",
    },
    1,
    65_535,
  ),
  textMap({ path: "service.annotations", about: "Its annotations." }),
  { path: "ingress", about: "An Ingress in front of the Service." },
  toggle({ path: "ingress.enabled", about: "Make an Ingress." }),
  text({ path: "ingress.className", about: "Its class; the cluster's default when it is empty." }),
  text({ path: "ingress.host", about: "Host of the public URL; required with `ingress.enabled`." }),
  textMap({ path: "ingress.annotations", about: "Its annotations." }),
  {
    path: "gateway",
    about: "An HTTPRoute of a Gateway that ends TLS; the kinds of the Gateway API must be there.",
  },
  toggle({ path: "gateway.enabled", about: "Make an HTTPRoute." }),
  text({ path: "gateway.host", about: "Host of the public URL; required with `gateway.enabled`." }),
  parts(
    { path: "gateway.parentRefs", about: "The Gateways; at least one with `gateway.enabled`." },
    "ParentReference",
  ),
  textMap({ path: "gateway.annotations", about: "Its annotations." }),
  { path: "networkPolicy", about: "Who reaches the Pods, and whom they reach." },
  toggle({ path: "networkPolicy.enabled", about: "Make a NetworkPolicy." }, true),
  parts(
    { path: "networkPolicy.from", about: "Who reaches the login; everybody when it is empty." },
    "NetworkPolicyPeer",
  ),
  parts(
    { path: "networkPolicy.metricsFrom", about: "Who reads the metrics; nobody when it is empty." },
    "NetworkPolicyPeer",
    [{ namespaceSelector: {} }],
  ),
  parts(
    {
      path: "networkPolicy.egress",
      about:
        "Whom the Pods reach: name server, API server and identity provider are needed; everybody when it is empty.",
    },
    "NetworkPolicyEgressRule",
  ),
];

const packages: ValueTable = [
  {
    path: "crds",
    about: "The kinds of Klutch. Helm installs them where they are missing, and never upgrades them.",
  },
  toggle(
    {
      path: "crds.check",
      about: "Refuse to go on while the cluster has kinds of an older release, and say how to upgrade them.",
    },
    true,
  ),
  {
    path: "packages",
    about:
      "Klutch's Crossplane packages; Crossplane must be there. They stay when the chart is removed, and databases with them.",
  },
  toggle({ path: "packages.enabled", about: "Install Provider and Function." }),
  toggle(
    {
      path: "packages.claims",
      about: "Install the Configuration with claims, whose composites are cluster-scoped.",
    },
    true,
  ),
  toggle({
    path: "packages.namespacedClaims",
    about: "Install the Configuration with claims that are namespaced composites.",
  }),
  text({ path: "packages.tag", about: "Tag of the packages; the chart's own version when it is empty." }),
  text({
    path: "packages.runtimeConfigName",
    about: "DeploymentRuntimeConfig of Provider and Function; Crossplane's default when it is empty.",
  }),
];

/** In the order of values.yaml; images come from `registry`. */
export const controlPlaneValues = (registry: Registry): ValueTable => [
  ...imageValues("backend", registry),
  ...namespaceValues(controlPlaneNamespace),
  wholeNumber({ path: "replicas", about: "How many Pods answer; one of them controls." }, 2),
  ...login,
  ...tenants,
  ...network,
  ...packages,
  ...disruptionValues(),
  ...monitorValues(),
  ...podValues({
    resources: backendResources(),
    spread: backendSpread(),
  }),
];

/** What the flag says about itself. */
function helpOf(flag: string): string {
  return `${backendProgram.flags[flag]?.help ?? ""}.`;
}

function standardOf(flag: string): string {
  return backendProgram.flags[flag]?.default ?? "";
}

function flagText(path: string, flag: string, about = helpOf(flag)): ChartValue {
  return text({ path, flag, about }, standardOf(flag));
}

function flagChoice(path: string, flag: string, allowed: readonly string[]): ChartValue {
  return oneOf({ path, flag, about: helpOf(flag) }, allowed, standardOf(flag));
}

function flagNumber(path: string, flag: string): ChartValue {
  return wholeNumber({ path, flag, about: helpOf(flag) }, Number(standardOf(flag)));
}
