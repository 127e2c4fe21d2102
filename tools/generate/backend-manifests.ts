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

import { claimRights } from "./backend-claim-rights.ts";

/** Name of everything of the backend, and of its namespace. */
export const backendName: string = backendPolicyName;

/** Labels that select its Pods, for good: a Deployment's selector cannot be changed. */
export const backendLabels: Readonly<Record<string, string>> = { "app.kubernetes.io/name": backendName };

/** Parts of the container that a site adds: its image, and arguments and variables besides the common ones. */
type SiteParts = Readonly<Record<"args" | "env", readonly unknown[]>> & { readonly image: string };

/** Returns the Deployment. Two replicas, of which one leads; both serve logins. Ports are those where the program listens in its Pod. */
export function backendDeployment({ image, args, env }: SiteParts): Manifest {
  const container = {
    name: "backend",
    image,
    args: ["--listen-address=:8080", "--probe-port=8081", "--lease-namespace=$(POD_NAMESPACE)", ...args],
    env: [...podIdentity, ...env],
    ports: [
      { name: "login", containerPort: 8080 },
      { name: "probes", containerPort: 8081 },
    ],
    livenessProbe: httpProbe("/healthz", "probes"),
    readinessProbe: httpProbe("/readyz", "probes", 5),
    // Gives every proxy time to learn that the Pod ends.
    lifecycle: { preStop: { sleep: { seconds: 5 } } },
    resources: { requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "512Mi" } },
    securityContext: restrictedContainer,
  };
  const spread = {
    maxSkew: 1,
    topologyKey: "kubernetes.io/hostname",
    whenUnsatisfiable: "ScheduleAnyway",
    labelSelector: { matchLabels: backendLabels },
  };
  return {
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
          topologySpreadConstraints: [spread],
          containers: [container],
        },
      },
    },
  };
}

/** Prints account, rights and the policy behind them, in the order in which they have to be applied; the first one is the namespace. */
export function backendRbac(): readonly Manifest[] {
  const account = { name: backendName, namespace: backendName };
  const metadata = { name: backendName };
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
      roleRef: { apiGroup: group, kind: "ClusterRole", name: backendName },
      subjects: [subject],
    },
    ...claimRights(backendName, subject),
    // Last, for clusters older than Kubernetes 1.30, which do not know these kinds.
    ...backendPolicyManifests,
  ];
}
