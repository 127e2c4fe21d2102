/** AppClusterBinding: binds an app cluster from the provider's side, without an agent in it. */
import type { Condition, KubeObject } from "@klutch/kube-core";
import {
  boolean,
  type CustomResourceDefinition,
  customResourceDefinition,
  list,
  object,
  type Schema,
} from "@klutch/schema";
import { type ContainerOverrides, containerOverrides } from "../container-overrides.ts";
import { bindGroup } from "../names.ts";
import {
  ageColumn,
  bindCategories,
  type ClusterSecretKeyRef,
  clusterSecretKeyRef,
  conditions,
  type GroupResource,
  groupResource,
  readyColumn,
} from "./common.ts";

export interface AppClusterBindingSpec {
  readonly kubeconfigSecretRef: ClusterSecretKeyRef;
  readonly apiExports?: readonly GroupResource[] | undefined;
  readonly konnector?:
    | {
        readonly deploy?: boolean | undefined;
        /** A strategic merge patch of the generated container. */
        readonly overrides?: ContainerOverrides | undefined;
      }
    | undefined;
}

export interface AppClusterBindingStatus {
  readonly conditions?: readonly Condition[] | undefined;
}

export interface AppClusterBinding extends KubeObject {
  readonly spec: AppClusterBindingSpec;
  readonly status?: AppClusterBindingStatus | undefined;
}

const spec: Schema<AppClusterBindingSpec> = object(
  { kubeconfigSecretRef: clusterSecretKeyRef },
  {
    apiExports: list(groupResource, {
      description: "The APIs to bind. Each needs an APIServiceExportTemplate.",
    }),
    konnector: object(
      {},
      {
        deploy: boolean({
          description:
            "Whether the backend runs the konnector as a Deployment in the root namespace. Without it there is none.",
        }),
        overrides: containerOverrides,
      },
      { description: "The konnector that serves the app cluster." },
    ),
  },
  { description: "Which app cluster is bound to which APIs, and how. Written by operators." },
);

export const appClusterBindingCrd: CustomResourceDefinition = customResourceDefinition({
  group: bindGroup,
  version: "v1alpha1",
  kind: "AppClusterBinding",
  plural: "appclusterbindings",
  scope: "Namespaced",
  categories: bindCategories,
  description: "Binds an app cluster from the provider's side.",
  fields: {
    spec,
    status: object(
      {},
      { conditions },
      { description: "How the app cluster's binding is doing. Written by the backend." },
    ),
  },
  required: ["spec"],
  columns: [readyColumn, ageColumn],
});
