import type { ResourceType } from "@klutch/kube-core";

/** Compositions of Crossplane, which carry the prices of a service's table. */
export const compositionType: ResourceType = {
  group: "apiextensions.crossplane.io",
  version: "v1",
  plural: "compositions",
  kind: "Composition",
  namespaced: false,
};
