/** Kinds of others that the charts make objects of. */
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { resolveEngine } from "@klutch/engines";
import { parseYamlDocuments } from "@klutch/kube";
import { isRecord, type KubeObject } from "@klutch/kube-core";
import { crdObject } from "@klutch/kube-testing";

/**
 * Crossplane's own CustomResourceDefinitions; of the Gateway API 1.3, cert-manager 1.18 and Prometheus' operator 0.84 only the fields that
 * the charts use, with their types.
 */
export async function foreignKinds(): Promise<readonly KubeObject[]> {
  const folder = join(dirname(await resolveEngine("crossplane")), "cluster", "crds");
  const files = ["providers", "functions", "configurations", "deploymentruntimeconfigs"].map(
    (name) => `pkg.crossplane.io_${name}.yaml`,
  );
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
  return [...texts.flatMap((text) => parseYamlDocuments(text)).filter(isManifest), ...sketches];
}

function isManifest(value: unknown): value is KubeObject {
  return isRecord(value) && typeof value["kind"] === "string" && isRecord(value["metadata"]);
}

/** Groups of Kubernetes itself are protected. */
const approved = { "api-approved.kubernetes.io": "unapproved, for a test" };
const text = { type: "string" };
const list = (items: object): object => ({ type: "array", items });
const object = (properties: object): object => ({ type: "object", properties });

/** A kind whose objects have just these fields in their `spec`. */
function sketch(group: string, plural: string, kind: string, spec: object): KubeObject {
  const crd = crdObject(
    { group, version: "v1", plural, kind, namespaced: true },
    { properties: { spec: object(spec) } },
  );
  return { ...crd, metadata: { ...crd.metadata, annotations: approved } };
}

const sketches: readonly KubeObject[] = [
  sketch("gateway.networking.k8s.io", "httproutes", "HTTPRoute", {
    parentRefs: list(object({ name: text, namespace: text })),
    hostnames: list(text),
    rules: list(object({ backendRefs: list(object({ name: text, port: { type: "integer" } })) })),
  }),
  sketch("cert-manager.io", "certificates", "Certificate", {
    secretName: text,
    dnsNames: list(text),
    privateKey: object({ rotationPolicy: text }),
    issuerRef: object({ group: text, kind: text, name: text }),
  }),
  sketch("monitoring.coreos.com", "servicemonitors", "ServiceMonitor", {
    selector: object({ matchLabels: { type: "object", additionalProperties: text } }),
    endpoints: list(object({ port: text, interval: text })),
  }),
  sketch("monitoring.coreos.com", "podmonitors", "PodMonitor", {
    namespaceSelector: object({ matchNames: list(text) }),
    selector: object({ matchExpressions: list(object({ key: text, operator: text, values: list(text) })) }),
    podMetricsEndpoints: list(object({ port: text, interval: text })),
  }),
  sketch("monitoring.coreos.com", "prometheusrules", "PrometheusRule", {
    groups: list(
      object({
        name: text,
        rules: list(
          object({
            alert: text,
            record: text,
            expr: text,
            for: text,
            labels: { type: "object", additionalProperties: text },
            annotations: { type: "object", additionalProperties: text },
          }),
        ),
      }),
    ),
  }),
];
