/** APIServiceExportRequest: an app cluster asks for APIs. */
import type { Condition, KubeObject } from "@klutch/kube-core";
import {
  anyObject,
  type CustomResourceDefinition,
  customResourceDefinition,
  list,
  object,
  oneOf,
  type Schema,
  string,
} from "@klutch/schema";
import { bindGroup } from "../names.ts";
import { ageColumn, bindCategories, conditions, groupField, readyColumn, resourceField } from "./common.ts";
import { type PermissionClaim, permissionClaim } from "./permission-claim.ts";

/** One requested API. */
export interface RequestedResource {
  readonly group?: string | undefined;
  readonly resource: string;
  readonly versions?: readonly string[] | undefined;
  readonly permissionClaims?: readonly PermissionClaim[] | undefined;
}

export interface APIServiceExportRequestSpec {
  readonly resources: readonly RequestedResource[];
  readonly parameters?: Readonly<Record<string, unknown>> | undefined;
}

export interface APIServiceExportRequestStatus {
  readonly phase?: "Pending" | "Failed" | "Succeeded" | undefined;
  readonly terminalMessage?: string | undefined;
  readonly conditions?: readonly Condition[] | undefined;
}

export interface APIServiceExportRequest extends KubeObject {
  readonly spec: APIServiceExportRequestSpec;
  readonly status?: APIServiceExportRequestStatus | undefined;
}

const resource: Schema<RequestedResource> = object(
  { resource: resourceField },
  {
    group: groupField,
    versions: list(string(), { description: "Not used: all served versions are exported." }),
    permissionClaims: list(permissionClaim, {
      description:
        "The claims of the template that the app cluster's side accepts; the others are rejected. Without the field none is rejected.",
    }),
  },
);

/** Schema of the spec, which also validates a request inside a BindingResponse. */
export const exportRequestSpec: Schema<APIServiceExportRequestSpec> = object(
  {
    resources: list(resource, {
      minItems: 1,
      description: "The APIs that are asked for.",
      rules: [{ rule: "self == oldSelf", message: "resources are immutable" }],
    }),
  },
  {
    parameters: anyObject({
      description: "Not used.",
      rules: [{ rule: "self == oldSelf", message: "parameters are immutable" }],
    }),
  },
  { description: "Requested APIs. Written by the plugin, or by the backend for an AppClusterBinding." },
);

const status: Schema<APIServiceExportRequestStatus> = object(
  {},
  {
    phase: oneOf(["Pending", "Failed", "Succeeded"], {
      default: "Pending",
      description: "Whether the exports exist; Failed and Succeeded are final.",
    }),
    terminalMessage: string({ description: "Why the request failed. Set only when the phase is Failed." }),
    conditions,
  },
  // Without it the default of `phase` would apply only once a client wrote a status.
  { default: {}, description: "How far the request is. Written by the backend." },
);

export const apiServiceExportRequestCrd: CustomResourceDefinition = customResourceDefinition({
  group: bindGroup,
  version: "v1alpha1",
  kind: "APIServiceExportRequest",
  plural: "apiserviceexportrequests",
  scope: "Namespaced",
  categories: bindCategories,
  description: "Asks the provider for APIs.",
  fields: { spec: exportRequestSpec, status },
  required: ["spec"],
  columns: [readyColumn, ageColumn],
});
