/**
 * Describes the broker of the bundle for trying Klutch out: one Pod with a volume. Its user, password and key are in a Secret that is not shipped. App
 * clusters reach its databases at node ports; why so: designs/0014.
 */
import {
  httpProbe,
  type Manifest,
  nodeAddress,
  type NodePorts,
  nodePortService,
  restrictedContainer,
  restrictedPod,
  runtimeUser,
} from "@klutch/api";
import { backendName } from "../generate/backend-manifests.ts";
import { variables } from "./bundle-backend.ts";
import { dataFolder } from "./images.ts";

const name = "klutch-broker";
const labels = { "app.kubernetes.io/name": name };
const metadata = { name, namespace: backendName, labels };

/** One for all PostgreSQL instances, and one for each instance of the other services. */
const dataPorts: NodePorts = { first: 30_010, last: 30_049 };

/** Returns its objects in the order in which they have to be applied; the namespace is the backend's. */
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
    nodePortService({ ...metadata, name: `${name}-data` }, labels, dataPorts),
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
  return {
    automountServiceAccountToken: false,
    // initdb and its like write to the volume.
    securityContext: { ...restrictedPod, fsGroup: runtimeUser },
    containers: [
      {
        name: "broker",
        image,
        env: [
          ...variables("secretKeyRef", name, {
            BROKER_USERNAME: "username",
            BROKER_PASSWORD: "password",
            BROKER_SECRET_KEY: "secret-key",
          }),
          { name: "BROKER_DATA_LISTEN", value: "0.0.0.0" },
          nodeAddress("BROKER_DATA_HOST"),
          { name: "BROKER_DATA_PORTS", value: `${dataPorts.first}-${dataPorts.last}` },
        ],
        ports: [
          { name: "http", containerPort: 8080 },
          { name: "probes", containerPort: 8081 },
        ],
        livenessProbe: httpProbe("/healthz", "probes"),
        readinessProbe: httpProbe("/readyz", "probes"),
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
