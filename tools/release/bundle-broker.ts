/** The broker of the bundle for trying Klutch out: one Pod with a volume. Its user, password and key are in a Secret that nobody ships. */
import type { Manifest } from "@klutch/api";
import { backendName, restrictedContainer, restrictedPod, variable } from "./bundle-backend.ts";
import { dataFolder } from "./images.ts";

const name = "klutch-broker";
const labels = { "app.kubernetes.io/name": name };
const metadata = { name, namespace: backendName, labels };

/** In the order in which they have to be applied; the namespace is the backend's. */
export function brokerManifests(image: string): readonly Manifest[] {
  return [
    {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata,
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "10Gi" } } },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata,
      spec: { selector: labels, ports: [{ name: "http", port: 80, targetPort: "http" }] },
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata,
      spec: {
        // One works in a data folder.
        replicas: 1,
        strategy: { type: "Recreate" },
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: podSpec(image) },
      },
    },
  ];
}

function podSpec(image: string): Readonly<Record<string, unknown>> {
  const probe = (path: string): unknown => ({
    httpGet: { path, port: "probes" },
    periodSeconds: 10,
    timeoutSeconds: 5,
  });
  return {
    automountServiceAccountToken: false,
    securityContext: restrictedPod,
    containers: [
      {
        name: "broker",
        image,
        env: [
          variable("BROKER_USERNAME", "secretKeyRef", name, "username"),
          variable("BROKER_PASSWORD", "secretKeyRef", name, "password"),
          variable("BROKER_SECRET_KEY", "secretKeyRef", name, "secret-key"),
        ],
        ports: [
          { name: "http", containerPort: 8080 },
          { name: "probes", containerPort: 8081 },
        ],
        livenessProbe: probe("/healthz"),
        readinessProbe: probe("/readyz"),
        resources: { requests: { cpu: "100m", memory: "256Mi" }, limits: { memory: "2Gi" } },
        securityContext: restrictedContainer,
        volumeMounts: [
          { name: "data", mountPath: dataFolder },
          { name: "tmp", mountPath: "/tmp" },
        ],
      },
    ],
    volumes: [
      { name: "data", persistentVolumeClaim: { claimName: name } },
      { name: "tmp", emptyDir: {} },
    ],
  };
}
