/** What every cluster has from the start: the API server's right to talk to kubelets, and CoreDNS. */
import {
  clusterRoleBindings,
  clusterRoles,
  configMaps,
  deployments,
  type DynamicObject,
  type ObjectRef,
  type ResourceType,
  serviceAccounts,
} from "@klutch/kube-core";
import { clusterDomain, ranges } from "./layout.ts";
import { systemImage } from "./system-images.ts";

/** The user that the API server is for kubelets. */
export const kubeletClientUser = "kube-apiserver-kubelet-client";

/** An object, and how to write it. */
export interface SystemObject {
  readonly type: ResourceType;
  readonly object: DynamicObject;
}

const services: ResourceType = { ...configMaps, plural: "services", kind: "Service" };
const namespace = "kube-system";
const labels = { "k8s-app": "kube-dns" };
const metadata = { name: "coredns", namespace };
const rbacGroup = "rbac.authorization.k8s.io";

/** The Deployment that answers names. */
export const dnsDeployment: ObjectRef = metadata;

/** In the order in which they are to be written. */
export const systemObjects: readonly SystemObject[] = [
  {
    type: clusterRoleBindings,
    object: binding(kubeletClientUser, "system:kubelet-api-admin", {
      apiGroup: rbacGroup,
      kind: "User",
      name: kubeletClientUser,
    }),
  },
  { type: serviceAccounts, object: { apiVersion: "v1", kind: "ServiceAccount", metadata } },
  {
    type: clusterRoles,
    object: {
      apiVersion: `${rbacGroup}/v1`,
      kind: "ClusterRole",
      metadata: { name: "klutch:coredns" },
      rules: [
        { apiGroups: [""], resources: ["services", "pods", "namespaces"], verbs: ["list", "watch"] },
        { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"] },
      ],
    },
  },
  {
    type: clusterRoleBindings,
    object: binding("klutch:coredns", "klutch:coredns", { kind: "ServiceAccount", ...metadata }),
  },
  {
    type: configMaps,
    object: { apiVersion: "v1", kind: "ConfigMap", metadata, data: { Corefile: corefile() } },
  },
  { type: deployments, object: deployment() },
  { type: services, object: dnsService() },
];

function binding(name: string, role: string, subject: object): DynamicObject {
  return {
    apiVersion: `${rbacGroup}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: rbacGroup, kind: "ClusterRole", name: role },
    subjects: [subject],
  };
}

/** It knows the cluster's own names only: there is no other name server to ask. */
function corefile(): string {
  const lines = ["errors", "health", "ready", `kubernetes ${clusterDomain} in-addr.arpa ip6.arpa`, "cache 5"];
  return [".:53 {", ...lines.map((line) => `    ${line}`), "}", ""].join("\n");
}

/** CoreDNS, which needs no right but to listen on port 53. */
function container(): object {
  return {
    name: "coredns",
    image: systemImage("coredns"),
    imagePullPolicy: "Never",
    args: ["-conf", "/etc/coredns/Corefile"],
    ports: [
      { containerPort: 53, protocol: "UDP", name: "dns" },
      { containerPort: 53, protocol: "TCP", name: "dns-tcp" },
    ],
    livenessProbe: { httpGet: { path: "/health", port: 8080 } },
    readinessProbe: { httpGet: { path: "/ready", port: 8181 }, periodSeconds: 1 },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE"] },
      seccompProfile: { type: "RuntimeDefault" },
      // A file capability of the program would be needed for an ordinary user to listen on port 53.
      runAsUser: 0,
    },
    volumeMounts: [{ name: "config", mountPath: "/etc/coredns" }],
  };
}

function deployment(): DynamicObject {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { ...metadata, labels },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: metadata.name,
          priorityClassName: "system-cluster-critical",
          dnsPolicy: "Default",
          containers: [container()],
          volumes: [{ name: "config", configMap: { name: metadata.name } }],
        },
      },
    },
  };
}

function dnsService(): DynamicObject {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "kube-dns", namespace, labels },
    spec: {
      clusterIP: ranges.dnsService,
      selector: labels,
      ports: [
        { name: "dns", port: 53, protocol: "UDP" },
        { name: "dns-tcp", port: 53, protocol: "TCP" },
      ],
    },
  };
}
