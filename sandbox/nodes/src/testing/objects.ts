/** Objects of tests: a web server behind a Service, and Pods that run one command. */
import type { DynamicObject, ResourceType } from "@klutch/kube-core";

/** Services. */
export const services: ResourceType = {
  group: "",
  version: "v1",
  plural: "services",
  kind: "Service",
  namespaced: true,
};

const labels = { app: "web" };
const metadata = { namespace: "default", name: "web" };
/** Meets the restricted level of the Pod security standards, and closes the root for writes. */
const securityContext = {
  runAsNonRoot: true,
  readOnlyRootFilesystem: true,
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  seccompProfile: { type: "RuntimeDefault" },
};

/** Port 80 of the web servers. */
export const webService: DynamicObject = {
  apiVersion: "v1",
  kind: "Service",
  metadata,
  spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
};

/** One web server of `webImage`. */
export function webDeployment(image: string): DynamicObject {
  const container = {
    name: "web",
    image,
    args: ["httpd", "-f", "-vv", "-p", "8080", "-h", "/www"],
    readinessProbe: { httpGet: { path: "/", port: 8080 }, periodSeconds: 1 },
    securityContext,
  };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata,
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  };
}

/** A Pod that runs a command of `webImage` once. */
export function podThatRuns(image: string, args: readonly string[]): DynamicObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "default", name: "once" },
    spec: { restartPolicy: "Never", containers: [{ name: "once", image, args, securityContext }] },
  };
}
