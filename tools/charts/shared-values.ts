/** Lists the values that both charts have. */
import { oneOf, part, parts, rows, text, textMap, toggle, type ValueTable, wholeNumber } from "./value.ts";

/** Names of objects, as Kubernetes writes them. */
const references = {
  type: "array",
  items: {
    type: "object",
    required: ["name"],
    additionalProperties: false,
    properties: { name: { type: "string", minLength: 1 } },
  },
};

/** Returns the values of both charts that come first: the image called `name`, and the namespace of everything. */
export function firstValues(name: string, registry: string, namespace: string): ValueTable {
  return rows({
    image: `Which image runs: \`<registry>/${name}:<tag>\`, and only that digest when there is one.`,
    "image.registry": text(
      "Host and path in front of the names of all images: `HOST[:PORT][/PATH]`.",
      registry,
    ),
    "image.tag": text("Tag of the image; the chart's own version when it is empty."),
    "image.digest": text(
      "Digest of the image, `sha256:…`: nothing else is ever run then, whatever the tag says.",
    ),
    "image.pullPolicy": oneOf(
      "When the image is asked for at the registry.",
      ["Always", "IfNotPresent", "Never"],
      "IfNotPresent",
    ),
    imagePullSecrets: {
      about: "Secrets in the Pods' namespace with the registry's user and password.",
      kind: "list of LocalObjectReference",
      schema: references,
      default: [],
    },
    namespace: `Everything is in the namespace \`${namespace}\`, whose name other parts rely on.`,
    "namespace.create": toggle(
      `The chart makes the namespace \`${namespace}\`, for a release that is kept in another one; otherwise Helm does, by \`--create-namespace\`.`,
    ),
  });
}

/** Returns the values of both charts that come last: disruption, monitoring, and what Pods get. */
export function lastValues(pods: {
  readonly resources: object;
  readonly spread: readonly object[];
}): ValueTable {
  return rows({
    podDisruptionBudget: "How many Pods stay while nodes are drained.",
    // A budget for one Pod would keep its node from being drained for ever.
    "podDisruptionBudget.enabled": toggle(
      "Make a PodDisruptionBudget, if there are more replicas than one.",
      true,
    ),
    "podDisruptionBudget.minAvailable": wholeNumber(
      "How many Pods stay; it must be less than `replicas`.",
      1,
    ),
    serviceMonitor: "How Prometheus' operator finds the metrics; its kinds must be there.",
    "serviceMonitor.enabled": toggle("Make a ServiceMonitor, and a Service for it."),
    "serviceMonitor.interval": text("How often the metrics are read.", "30s"),
    "serviceMonitor.labels": textMap("Labels by which a Prometheus selects the ServiceMonitor."),
    resources: part("What a Pod asks for and may use.", "ResourceRequirements", pods.resources),
    podLabels: textMap("Further labels of the Pods."),
    podAnnotations: textMap("Annotations of the Pods."),
    priorityClassName: text("Which PriorityClass the Pods have."),
    nodeSelector: textMap("Labels that a node must have."),
    tolerations: parts("Taints of nodes that the Pods bear.", "Toleration"),
    affinity: part("Which nodes and neighbours the Pods prefer.", "Affinity"),
    topologySpreadConstraints: parts(
      "How the Pods are spread; one without a label selector selects the Pods of this chart.",
      "TopologySpreadConstraint",
      pods.spread,
    ),
  });
}
