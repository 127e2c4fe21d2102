/** The resource the benchmarks sync: a namespaced kind with a spec of about 2 KB. */
import type { DynamicObject, KubeObject, ResourceType } from "@klutch/kube";

/** Where the widget is served. */
export const widgets: ResourceType = {
  group: "bench.klutch.example",
  version: "v1",
  plural: "widgets",
  kind: "Widget",
  namespaced: true,
};

/** Name of its CRD, export and binding. */
export const widgetCrdName = "widgets.bench.klutch.example";

/** A structural schema with a required status subresource, as bound CRDs have. */
export const widgetCrd: KubeObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: widgetCrdName },
  spec: {
    group: widgets.group,
    scope: "Namespaced",
    names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
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
                properties: { size: { type: "integer" }, payload: { type: "string" } },
              },
              status: { type: "object", properties: { observed: { type: "integer" } } },
            },
          },
        },
      },
    ],
  },
};

/** A widget with a payload of `payloadBytes` (default 2 000). */
export function widget(namespace: string, name: string, payloadBytes = 2000): DynamicObject {
  return {
    apiVersion: "bench.klutch.example/v1",
    kind: "Widget",
    metadata: { namespace, name },
    spec: { size: 1, payload: "x".repeat(payloadBytes) },
  };
}
