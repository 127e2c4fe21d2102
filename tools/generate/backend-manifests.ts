/** Prints what the backend runs with in the control plane cluster. Bundle and chart are made of it, so that one can follow the other. */
import {
  backendPolicyManifests,
  backendPolicyName,
  backendRules,
  binderName,
  binderRules,
  httpProbe,
  type Manifest,
  podIdentity,
  restrictedContainer,
  restrictedPod,
} from "@klutch/api";

/** Name of everything of the backend, and of its namespace. */
export const backendName: string = backendPolicyName;

/** Labels that select its Pods, for good: a Deployment's selector cannot be changed. */
export const backendLabels: Readonly<Record<string, string>> = { "app.kubernetes.io/name": backendName };

/**
 * Two replicas, of which one leads; both serve logins. The image is empty, and arguments and variables of a site are missing.
 */
export const backendDeploymentBase: Manifest = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: backendName, namespace: backendName, labels: backendLabels },
  spec: {
    replicas: 2,
    selector: { matchLabels: backendLabels },
    strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    template: {
      metadata: { labels: backendLabels },
      spec: {
        serviceAccountName: backendName,
        securityContext: restrictedPod,
        terminationGracePeriodSeconds: 30,
        topologySpreadConstraints: backendSpread().map((constraint) => ({
          ...constraint,
          labelSelector: { matchLabels: backendLabels },
        })),
        containers: [container()],
      },
    },
  },
};

/** Returns the constraints that spread its Pods over nodes; they do not name the Pods. */
export function backendSpread(): readonly object[] {
  return [{ maxSkew: 1, topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "ScheduleAnyway" }];
}

/** Returns the requests and limits of its container. */
export function backendResources(): object {
  return { requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "512Mi" } };
}

/** Its ports are where it listens in its Pod. */
function container(): object {
  return {
    name: "backend",
    image: "",
    args: ["--listen-address=:8080", "--probe-port=8081", "--lease-namespace=$(POD_NAMESPACE)"],
    env: podIdentity,
    ports: [
      { name: "login", containerPort: 8080 },
      { name: "probes", containerPort: 8081 },
    ],
    livenessProbe: httpProbe("/healthz", "probes"),
    readinessProbe: httpProbe("/readyz", "probes", 5),
    // Gives every proxy time to learn that the Pod ends.
    lifecycle: { preStop: { sleep: { seconds: 5 } } },
    resources: backendResources(),
    securityContext: restrictedContainer,
  };
}

/** Prints account, rights and the policy behind them, in the order in which they have to be applied; the first one is the namespace. */
export function backendRbac(): readonly Manifest[] {
  const account = { name: backendPolicyName, namespace: backendPolicyName };
  const metadata = { name: account.name };
  const group = "rbac.authorization.k8s.io";
  const subject = { kind: "ServiceAccount", ...account };
  return [
    { apiVersion: "v1", kind: "Namespace", metadata },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: account },
    { apiVersion: `${group}/v1`, kind: "ClusterRole", metadata, rules: backendRules },
    { apiVersion: `${group}/v1`, kind: "ClusterRole", metadata: { name: binderName }, rules: binderRules },
    {
      apiVersion: `${group}/v1`,
      kind: "ClusterRoleBinding",
      metadata,
      roleRef: { apiGroup: group, kind: "ClusterRole", name: account.name },
      subjects: [subject],
    },
    // Last, for clusters older than Kubernetes 1.30, which do not know these kinds.
    ...backendPolicyManifests,
  ];
}
