/** Values that both charts have. */
import {
  oneOf,
  part,
  parts,
  references,
  text,
  textMap,
  toggle,
  type ValueTable,
  wholeNumber,
} from "./value.ts";

/** Which image runs. */
export function imageValues(name: string, registry: string): ValueTable {
  return [
    {
      path: "image",
      about: `Which image runs: \`<registry>/${name}:<tag>\`, and only that digest when there is one.`,
    },
    text(
      {
        path: "image.registry",
        about: "Host and path in front of the names of all images: `HOST[:PORT][/PATH]`.",
      },
      registry,
    ),
    text({ path: "image.tag", about: "Tag of the image; the chart's own version when it is empty." }),
    text({
      path: "image.digest",
      about: "Digest of the image, `sha256:…`: nothing else is ever run then, whatever the tag says.",
    }),
    oneOf(
      { path: "image.pullPolicy", about: "When the image is asked for at the registry." },
      ["Always", "IfNotPresent", "Never"],
      "IfNotPresent",
    ),
    references({
      path: "imagePullSecrets",
      about: "Secrets in the Pods' namespace with the registry's user and password.",
    }),
  ];
}

/** The namespace that everything is in. */
export function namespaceValues(namespace: string): ValueTable {
  return [
    {
      path: "namespace",
      about: `Everything is in the namespace \`${namespace}\`, whose name other parts rely on.`,
    },
    toggle({
      path: "namespace.create",
      about: `The chart makes the namespace \`${namespace}\`, for a release that is kept in another one; otherwise Helm does, by \`--create-namespace\`.`,
    }),
  ];
}

/** Where Pods run and what they get. */
export function podValues(options: {
  readonly resources: object;
  readonly spread: readonly object[];
}): ValueTable {
  return [
    part(
      { path: "resources", about: "What a Pod asks for and may use." },
      "ResourceRequirements",
      options.resources,
    ),
    textMap({ path: "podLabels", about: "Further labels of the Pods." }),
    textMap({ path: "podAnnotations", about: "Annotations of the Pods." }),
    text({ path: "priorityClassName", about: "Which PriorityClass the Pods have." }),
    textMap({ path: "nodeSelector", about: "Labels that a node must have." }),
    parts({ path: "tolerations", about: "Taints of nodes that the Pods bear." }, "Toleration"),
    part({ path: "affinity", about: "Which nodes and neighbours the Pods prefer." }, "Affinity"),
    parts(
      {
        path: "topologySpreadConstraints",
        about: "How the Pods are spread; one without a label selector selects the Pods of this chart.",
      },
      "TopologySpreadConstraint",
      options.spread,
    ),
  ];
}

/** How many Pods a drain leaves. A budget for one Pod would keep its node from being drained for ever. */
export function disruptionValues(): ValueTable {
  return [
    { path: "podDisruptionBudget", about: "How many Pods stay while nodes are drained." },
    toggle(
      {
        path: "podDisruptionBudget.enabled",
        about: "Make a PodDisruptionBudget, if there are more replicas than one.",
      },
      true,
    ),
    wholeNumber(
      {
        path: "podDisruptionBudget.minAvailable",
        about: "How many Pods stay; it must be less than `replicas`.",
      },
      1,
    ),
  ];
}

/** Who may scrape, and the object that says so to Prometheus' operator. */
export function monitorValues(): ValueTable {
  return [
    { path: "serviceMonitor", about: "How Prometheus' operator finds the metrics; its kinds must be there." },
    toggle({ path: "serviceMonitor.enabled", about: "Make a ServiceMonitor, and a Service for it." }),
    text({ path: "serviceMonitor.interval", about: "How often the metrics are read." }, "30s"),
    textMap({
      path: "serviceMonitor.labels",
      about: "Labels by which a Prometheus selects the ServiceMonitor.",
    }),
  ];
}
