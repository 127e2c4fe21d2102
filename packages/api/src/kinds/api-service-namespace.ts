/** APIServiceNamespace: maps a namespace of an app cluster to one of the provider. */
import type { KubeObject } from "@klutch/kube-core";
import {
  type CustomResourceDefinition,
  customResourceDefinition,
  object,
  type Schema,
  string,
} from "@klutch/schema";
import { bindGroup } from "../names.ts";
import { ageColumn, bindCategories } from "./common.ts";

export interface APIServiceNamespaceStatus {
  /** Name of the service namespace, once it exists. */
  readonly namespace?: string | undefined;
}

/** Named like the consumer's namespace. The konnector creates it, the backend fills the status. */
export interface APIServiceNamespace extends KubeObject {
  readonly spec?: Readonly<Record<string, never>> | undefined;
  readonly status?: APIServiceNamespaceStatus | undefined;
}

const status: Schema<APIServiceNamespaceStatus> = object(
  {},
  {
    namespace: string({
      description:
        "Name of the service namespace on the provider. Set once it exists and the konnector's account has its rights there.",
    }),
  },
  { description: "Where the namespace is on the provider. Written by the backend." },
);

const spec = object(
  {},
  {},
  { description: "Has no fields: the object's own name is that of the namespace in the app cluster." },
);

export const apiServiceNamespaceCrd: CustomResourceDefinition = customResourceDefinition({
  group: bindGroup,
  version: "v1alpha1",
  kind: "APIServiceNamespace",
  plural: "apiservicenamespaces",
  scope: "Namespaced",
  categories: bindCategories,
  description: "Maps a namespace of an app cluster to a namespace of the provider.",
  fields: { spec, status },
  columns: [{ name: "Namespace", type: "string", jsonPath: ".status.namespace" }, ageColumn],
});
