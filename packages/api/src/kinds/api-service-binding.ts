/** APIServiceBinding: an API of a provider, bound in an app cluster. */
import type { Condition, KubeObject } from "@klutch/kube-core";
import {
  type CustomResourceDefinition,
  customResourceDefinition,
  list,
  object,
  type Schema,
  string,
} from "@klutch/schema";
import { bindGroup } from "../names.ts";
import {
  ageColumn,
  type AnnouncedApi,
  announcedApis,
  bindCategories,
  type ClusterSecretKeyRef,
  clusterSecretKeyRef,
  conditions,
  type ObjectLimit,
  objectLimit,
  readyColumn,
  readyMessageColumn,
} from "./common.ts";
import { type AnsweredPermissionClaim, answeredPermissionClaim } from "./permission-claim.ts";

export interface APIServiceBindingSpec {
  readonly kubeconfigSecretRef: ClusterSecretKeyRef;
  readonly permissionClaims?: readonly AnsweredPermissionClaim[] | undefined;
}

export interface APIServiceBindingStatus {
  /** RFC 3339. */
  readonly lastHeartbeatTime?: string | undefined;
  readonly providerPrettyName?: string | undefined;
  /** Present while the provider limits the number of objects of the kind. */
  readonly limit?: (ObjectLimit & { readonly contact?: string | undefined }) | undefined;
  /** On the first binding of a provider, for all of them. */
  readonly newAPIs?: readonly AnnouncedApi[] | undefined;
  readonly conditions?: readonly Condition[] | undefined;
}

/** Named like the CRD and the export: `<resource>.<group>`. */
export interface APIServiceBinding extends KubeObject {
  readonly spec: APIServiceBindingSpec;
  readonly status?: APIServiceBindingStatus | undefined;
}

const spec: Schema<APIServiceBindingSpec> = object(
  { kubeconfigSecretRef: clusterSecretKeyRef },
  {
    permissionClaims: list(answeredPermissionClaim, {
      description:
        "The provider's claims for this API and the answers to them. Written by the plugin, in control-plane mode by the backend.",
    }),
  },
  { description: "How the provider is reached, and what of this cluster it may read and write for the API." },
);

const status: Schema<APIServiceBindingStatus> = object(
  {},
  {
    providerPrettyName: string({
      description: "What the provider calls itself, copied from its ClusterBinding.",
    }),
    lastHeartbeatTime: string({
      format: "date-time",
      description:
        "When the konnector last reached the provider, at most two minutes ago while both are well. Conditions are not newer than it: no one updates them while no konnector runs. Absent in control-plane mode.",
    }),
    limit: objectLimit,
    newAPIs: announcedApis,
    conditions,
  },
  { description: "How the binding is doing. Written by the konnector." },
);

export const apiServiceBindingCrd: CustomResourceDefinition = customResourceDefinition({
  group: bindGroup,
  version: "v1alpha1",
  kind: "APIServiceBinding",
  plural: "apiservicebindings",
  scope: "Namespaced",
  shortNames: ["sb"],
  categories: bindCategories,
  description: "Binds an API of a provider in this cluster.",
  fields: { spec, status },
  columns: [
    { name: "Provider", type: "string", jsonPath: ".status.providerPrettyName" },
    {
      name: "Resources",
      type: "string",
      jsonPath: ".metadata.annotations.kube-bind\\.io/resources",
      priority: 1,
    },
    readyColumn,
    { name: "Last Heartbeat", type: "date", jsonPath: ".status.lastHeartbeatTime" },
    readyMessageColumn,
    ageColumn,
  ],
});
