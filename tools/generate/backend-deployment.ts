/** What the backend's Deployment is wherever it comes from: bundle and chart are printed from it, so that one can follow the other. */
import {
  backendPolicyName,
  httpProbe,
  type Manifest,
  podIdentity,
  restrictedContainer,
  restrictedPod,
} from "@klutch/api";

/** Name of everything of the backend, and of its namespace. */
export const backendName: string = backendPolicyName;

/** By these its Pods are found, for good: a Deployment's selector cannot be changed. */
export const backendLabels: Readonly<Record<string, string>> = { "app.kubernetes.io/name": backendName };

/** Where it listens in its Pod. */
const loginPort = 8080;
const probePort = 8081;

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

/** How its Pods are spread over nodes; the Pods themselves are not named. */
export function backendSpread(): readonly object[] {
  return [{ maxSkew: 1, topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "ScheduleAnyway" }];
}

/** What its container asks for and may use. */
export function backendResources(): object {
  return { requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "512Mi" } };
}

function container(): object {
  return {
    name: "backend",
    image: "",
    args: [
      `--listen-address=:${loginPort}`,
      `--probe-port=${probePort}`,
      "--lease-namespace=$(POD_NAMESPACE)",
    ],
    env: podIdentity,
    ports: [
      { name: "login", containerPort: loginPort },
      { name: "probes", containerPort: probePort },
    ],
    livenessProbe: httpProbe("/healthz", "probes"),
    readinessProbe: httpProbe("/readyz", "probes", 5),
    // Until every proxy has heard that the Pod goes.
    lifecycle: { preStop: { sleep: { seconds: 5 } } },
    resources: backendResources(),
    securityContext: restrictedContainer,
  };
}
