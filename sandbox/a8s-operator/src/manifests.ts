/** Prints the manifests that run the operator in a control plane: its kinds, account, rights and Deployment. */
import {
  httpProbe,
  type Manifest,
  nodeAddress,
  type NodePorts,
  nodePortService,
  podIdentity,
  restrictedContainer,
  runtimeUser,
} from "@klutch/api";
import type { PolicyRule, ResourceType } from "@klutch/kube-core";
import { a8sCrds, backups, postgresqls, restores, serviceBindings } from "./kinds.ts";

const name = "a8s-operator";
const namespace = "a8s-system";
const rbac = "rbac.authorization.k8s.io";
const probePort = 8081;
/** One port for each instance, beside those of the broker for trying Klutch out. */
const dataPorts: NodePorts = { first: 30_050, last: 30_069 };

const ofKind = ({ group, plural }: ResourceType): readonly PolicyRule[] => [
  // `patch` is for the finalizer.
  { apiGroups: [group], resources: [plural], verbs: ["get", "list", "watch", "patch"] },
  { apiGroups: [group], resources: [`${plural}/status`], verbs: ["patch"] },
];

/** Rights of the operator in the whole cluster. */
export const operatorRules: readonly PolicyRule[] = [
  ...[postgresqls, serviceBindings, backups, restores].flatMap(ofKind),
  // By name only, in every namespace.
  { apiGroups: [""], resources: ["secrets"], verbs: ["get", "create", "patch", "delete"] },
  { apiGroups: [""], resources: ["events"], verbs: ["create"] },
];

/** Rights of the operator in its own namespace: its lease. */
export const operatorNamespaceRules: readonly PolicyRule[] = [
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    verbs: ["get", "watch", "create", "update", "patch"],
  },
];

/** Returns the manifests in the order in which they are applied. */
export function operatorManifests({ image }: { readonly image: string }): readonly Manifest[] {
  const inNamespace = { name, namespace, labels: { app: name } };
  const anywhere = { name, labels: { app: name } };
  const subjects = [{ kind: "ServiceAccount", name, namespace }];
  return [
    ...a8sCrds.map((crd) => ({ ...crd })),
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: inNamespace },
    { apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata: anywhere, rules: operatorRules },
    {
      apiVersion: `${rbac}/v1`,
      kind: "ClusterRoleBinding",
      metadata: anywhere,
      roleRef: { apiGroup: rbac, kind: "ClusterRole", name },
      subjects,
    },
    { apiVersion: `${rbac}/v1`, kind: "Role", metadata: inNamespace, rules: operatorNamespaceRules },
    {
      apiVersion: `${rbac}/v1`,
      kind: "RoleBinding",
      metadata: inNamespace,
      roleRef: { apiGroup: rbac, kind: "Role", name },
      subjects,
    },
    {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: inNamespace,
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "20Gi" } } },
    },
    nodePortService({ ...inNamespace, name: `${name}-data` }, { app: name }, dataPorts),
    { apiVersion: "apps/v1", kind: "Deployment", metadata: inNamespace, spec: deploymentSpec(image) },
  ];
}

function deploymentSpec(image: string): Readonly<Record<string, unknown>> {
  return {
    // One works in a data folder.
    replicas: 1,
    strategy: { type: "Recreate" },
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        serviceAccountName: name,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: runtimeUser,
          fsGroup: runtimeUser,
          seccompProfile: { type: "RuntimeDefault" },
        },
        containers: [container(image)],
        volumes: [
          { name: "data", persistentVolumeClaim: { claimName: name } },
          { name: "tmp", emptyDir: {} },
        ],
      },
    },
  };
}

function container(image: string): Readonly<Record<string, unknown>> {
  return {
    name,
    image,
    args: [
      "--leader-election",
      "--data-folder=/var/lib/a8s-operator",
      `--health-probe-bind-address=:${probePort}`,
      "--data-listen=0.0.0.0",
      "--data-host=$(NODE_ADDRESS)",
      `--data-ports=${dataPorts.first}-${dataPorts.last}`,
    ],
    env: [...podIdentity, nodeAddress("NODE_ADDRESS")],
    ports: [{ name: "health", containerPort: probePort }],
    livenessProbe: httpProbe("/healthz", probePort),
    readinessProbe: httpProbe("/readyz", probePort),
    resources: { requests: { cpu: "100m", memory: "256Mi" } },
    securityContext: restrictedContainer,
    volumeMounts: [
      { name: "data", mountPath: "/var/lib/a8s-operator" },
      { name: "tmp", mountPath: "/tmp" },
    ],
  };
}
