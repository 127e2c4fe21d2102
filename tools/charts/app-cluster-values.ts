/** Lists the values of the chart for app clusters. */
import { consumerNamespace, konnectorManifests, type Registry } from "@klutch/api";
import { recordAt, recordsAt } from "@klutch/kube-core";
import { firstValues, lastValues } from "./shared-values.ts";
import {
  type JsonSchema,
  oneOf,
  optionalNumber,
  optionalToggle,
  rows,
  toggle,
  type ValueTable,
  wholeNumber,
} from "./value.ts";

const deployment = konnectorManifests({ image: "" }).find(({ kind }) => kind === "Deployment");
const [container] = recordsAt(deployment, "spec", "template", "spec", "containers");

const named = { type: "string", minLength: 1 };

/** A binding as `kubectl bind` would write it. The claims are checked by the kind's own schema. */
const bindingSchema: JsonSchema = {
  type: "object",
  required: ["name", "secretName"],
  additionalProperties: false,
  properties: {
    name: { ...named, description: "Name of the API: `<plural>.<group>`." },
    secretName: {
      ...named,
      description: `Secret in \`${consumerNamespace}\` with the kubeconfig of the provider under the key \`kubeconfig\`.`,
    },
    permissionClaims: {
      type: "array",
      items: { type: "object", required: ["resource", "version", "state"] },
      description:
        "The provider's permission claims, each with the answer `Accepted` or `Rejected` in `state`.",
    },
  },
};

/** Returns the values in the order of values.yaml; images come from `registry`. */
export const appClusterValues = (registry: Registry): ValueTable => [
  ...firstValues("konnector", registry, consumerNamespace),
  ...rows({
    replicas: wholeNumber("How many Pods there are; one of them works.", 2),
    bindings: {
      about:
        "APIs that are bound without the plugin: for each an APIServiceBinding and the rights that it needs.",
      kind: "list of bindings",
      schema: { type: "array", items: bindingSchema },
      default: [],
    },
    logLevel: oneOf(
      "What is logged; `info` when it is empty.",
      ["", "debug", "info", "warn", "error", "silent"],
      "",
      "log-level",
    ),
    massDeletionLimit: optionalNumber(
      "Deletions of one API within a minute after which the rest is held, when most claims go with them; 0 never holds, null is 100.",
      { flag: "mass-deletion-limit" },
    ),
    providerObjectsLimit: optionalNumber(
      "Copies of one claimed resource that the provider may bring into a namespace; 0 is any number, null is 1000.",
      { flag: "provider-objects-limit" },
    ),
    admissionPolicy:
      "The ValidatingAdmissionPolicy behind the konnector's roles, as the plugin writes it: the account writes only what is bound.",
    "admissionPolicy.enabled": optionalToggle(
      "Make it; null is yes where Helm sees the cluster or `bindings` binds something. Where only files are rendered, as Argo CD does, it does not know what the plugin has bound: set it to false there if the plugin binds, too.",
    ),
    networkPolicy: "Who reaches the Pods.",
    "networkPolicy.enabled": toggle("Make a NetworkPolicy that lets only metrics be read."),
  }),
  ...lastValues({ resources: recordAt(container, "resources"), spread: [] }),
];
