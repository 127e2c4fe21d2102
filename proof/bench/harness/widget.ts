/** The resources the benchmarks sync: namespaced kinds with a spec of a chosen size. */
import type { Random } from "@klutch/kube";
import type { DynamicObject, KubeObject, ResourceType } from "@klutch/kube-core";
import { randomBase64, randomText } from "./contents.ts";

/** API group of all benchmark kinds. */
export const benchGroup = "bench.klutch.example";

/** One kind: where it is served, and its CRD. */
export interface WidgetKind {
  readonly type: ResourceType;
  /** Also the name of its export and binding. */
  readonly crdName: string;
  readonly crd: KubeObject & { readonly metadata: { readonly name: string } };
}

/** The kind number `index`: Widget, Widget1, Widget2, … */
export function widgetKind(index: number): WidgetKind {
  const suffix = index === 0 ? "" : String(index);
  const type: ResourceType = {
    group: benchGroup,
    version: "v1",
    plural: `widget${suffix}s`,
    kind: `Widget${suffix}`,
    namespaced: true,
  };
  const crdName = `${type.plural}.${benchGroup}`;
  return { type, crdName, crd: crdOf(type, crdName) };
}

/** The kind that nearly all benchmarks use. */
export const widgets: ResourceType = widgetKind(0).type;

/** A structural schema with a required status subresource, as bound CRDs have. */
function crdOf(type: ResourceType, name: string): WidgetKind["crd"] {
  const text = { type: "string" };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name },
    spec: {
      group: type.group,
      scope: "Namespaced",
      names: {
        plural: type.plural,
        singular: type.kind.toLowerCase(),
        kind: type.kind,
        listKind: `${type.kind}List`,
      },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: {
                spec: {
                  type: "object",
                  properties: {
                    size: { type: "integer" },
                    text,
                    blob: text,
                    // Left empty by users; a controller of the provider fills it in.
                    providerRef: text,
                    tier: { type: "string", default: "standard" },
                  },
                },
                status: { type: "object", properties: { observed: { type: "integer" }, message: text } },
              },
            },
          },
        },
      ],
    },
  };
}

/** What a new widget is made of. */
export interface WidgetContents {
  readonly random: Random;
  /** Of text and incompressible data together, half each. */
  readonly bytes: number;
}

/** A widget with random contents. */
export function widget(
  namespace: string,
  name: string,
  { random, bytes }: WidgetContents,
  type: ResourceType = widgets,
): DynamicObject {
  const half = Math.floor(bytes / 2);
  return {
    apiVersion: `${benchGroup}/v1`,
    kind: type.kind,
    metadata: { namespace, name },
    spec: { size: 1, text: randomText(random, half), blob: randomBase64(random, bytes - half) },
  };
}
