/** The definition of claims, of either generation, that Crossplane derives of an XRD, as far as an API server checks claims by it. */
import { listAt, recordAt, textAt } from "@klutch/kube-core";
import type { CompositeResourceDefinition } from "../xrd.ts";

/** A CustomResourceDefinition (apiextensions.k8s.io/v1) as JSON. */
export interface ClaimDefinition {
  readonly apiVersion: "apiextensions.k8s.io/v1";
  readonly kind: "CustomResourceDefinition";
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** Named like Crossplane's; of the fields that Crossplane adds to the spec, those that choose the Composition. */
export function claimDefinition({ spec }: CompositeResourceDefinition): ClaimDefinition {
  const group = textAt(spec, "group") ?? "";
  const isLegacy = spec["claimNames"] !== undefined;
  const names = isLegacy ? "claimNames" : "names";
  const plural = textAt(spec, names, "plural") ?? "";
  const kind = textAt(spec, names, "kind") ?? "";
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      scope: "Namespaced",
      versions: listAt(spec, "versions").map((version) => claimVersion(version, isLegacy)),
    },
  };
}

function claimVersion(version: unknown, isLegacy: boolean): object {
  const { referenceable, schema, ...rest } = recordAt(version);
  const root = recordAt(schema, "openAPIV3Schema");
  const properties = recordAt(root, "properties");
  const spec = recordAt(properties, "spec");
  const added = isLegacy ? choice : { crossplane: { type: "object", properties: choice } };
  const chosen = { ...spec, properties: { ...added, ...recordAt(spec, "properties") } };
  return {
    ...rest,
    storage: referenceable,
    subresources: { status: {} },
    schema: { openAPIV3Schema: { ...root, properties: { ...properties, spec: chosen } } },
  };
}

const choice = {
  compositionRef: { type: "object", required: ["name"], properties: { name: { type: "string" } } },
  compositionSelector: {
    type: "object",
    required: ["matchLabels"],
    properties: { matchLabels: { type: "object", additionalProperties: { type: "string" } } },
  },
};
