/** Prints the manifests that run the operator in a control plane: its kinds, account, rights and Deployment. */
import * as api from "@klutch/api";
import type { PolicyRule, ResourceType } from "@klutch/kube-core";
import { a8sCrds, backups, postgresqls, restores, serviceBindings } from "./kinds.ts";

const name = "a8s-operator";
const namespace = "a8s-system";
const rbac = "rbac.authorization.k8s.io";
const probePort = 8081;
/** One port for each instance, beside those of the broker for trying Klutch out. */
const dataPorts: api.NodePorts = { first: 30_050, last: 30_069 };

const ofKind = ({ group, plural }: ResourceType): readonly PolicyRule[] => [
  // `patch` is for the finalizer.
  { apiGroups: [group], resources: [plural], verbs: ["get", "list", "watch", "patch"] },
  { apiGroups: [group], resources: [`${plural}/status`], verbs: ["patch"] },
];

/** Rights of the operator in the whole cluster. */
export const operatorRules: readonly PolicyRule[] = [
  ...[postgresqls, serviceBindings, backups, restores].flatMap(ofKind),
  // The operator reads Secrets by name only, in every namespace.
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
export function operatorManifests({ image }: { readonly image: string }): readonly api.Manifest[] {
  const inNamespace = { name, namespace, labels: { app: name } };
  const anywhere = { name, labels: { app: name } };
  const rbacVersion = `${rbac}/v1`;
  const make = (apiVersion: string, kind: string, fields: object = {}, metadata: object = inNamespace) => ({
    apiVersion,
    kind,
    metadata: { name, ...metadata },
    ...fields,
  });
  const bindingTo = (kind: string) => ({
    roleRef: { apiGroup: rbac, kind, name },
    subjects: [{ kind: "ServiceAccount", name, namespace }],
  });
  const storage = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "20Gi" } } };
  return [
    ...a8sCrds.map((crd) => ({ ...crd })),
    make("v1", "Namespace", {}, { name: namespace }),
    make("v1", "ServiceAccount"),
    make(rbacVersion, "ClusterRole", { rules: operatorRules }, anywhere),
    make(rbacVersion, "ClusterRoleBinding", bindingTo("ClusterRole"), anywhere),
    make(rbacVersion, "Role", { rules: operatorNamespaceRules }),
    make(rbacVersion, "RoleBinding", bindingTo("Role")),
    make("v1", "PersistentVolumeClaim", { spec: storage }),
    api.nodePortService({ ...inNamespace, name: `${name}-data` }, { app: name }, dataPorts),
    make("apps/v1", "Deployment", { spec: deploymentSpec(image) }),
  ];
}

function deploymentSpec(image: string): Readonly<Record<string, unknown>> {
  const labels = { app: name };
  const podSpec = {
    serviceAccountName: name,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: api.runtimeUser,
      fsGroup: api.runtimeUser,
      seccompProfile: { type: "RuntimeDefault" },
    },
    containers: [container(image)],
    volumes: [
      { name: "data", persistentVolumeClaim: { claimName: name } },
      { name: "tmp", emptyDir: {} },
    ],
  };
  return {
    // One works in a data folder.
    replicas: 1,
    strategy: { type: "Recreate" },
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: podSpec },
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
    env: [...api.podIdentity, api.nodeAddress("NODE_ADDRESS")],
    ports: [{ name: "health", containerPort: probePort }],
    livenessProbe: api.httpProbe("/healthz", probePort),
    readinessProbe: api.httpProbe("/readyz", probePort),
    resources: { requests: { cpu: "100m", memory: "256Mi" } },
    securityContext: api.restrictedContainer,
    volumeMounts: [
      { name: "data", mountPath: "/var/lib/a8s-operator" },
      { name: "tmp", mountPath: "/tmp" },
    ],
  };
}
