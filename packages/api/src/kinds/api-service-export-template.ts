/** APIServiceExportTemplate: makes a CRD of the provider available for binding. */
import type { Condition, KubeObject } from "@klutch/kube-core";
import {
  type CustomResourceDefinition,
  customResourceDefinition,
  integer,
  list,
  object,
  type PrinterColumn,
  type Schema,
  string,
} from "@klutch/schema";
import { templateGroup } from "../names.ts";
import {
  ageColumn,
  bindCategories,
  conditions,
  groupField,
  readyMessageColumn,
  resourceField,
} from "./common.ts";
import { type PermissionClaim, permissionClaim } from "./permission-claim.ts";

/** The API that is offered. The capital A of its field is on the wire. */
export interface APIServiceSelector {
  readonly group?: string | undefined;
  readonly resource: string;
  readonly version?: string | undefined;
}

export interface APIServiceExportTemplateSpec {
  readonly APIServiceSelector: APIServiceSelector;
  readonly permissionClaims?: readonly PermissionClaim[] | undefined;
}

export interface APIServiceExportTemplateStatus {
  /** Kind of the API; absent while there is none. */
  readonly kind?: string | undefined;
  /** Number of app clusters that have bound the API. */
  readonly boundClusters?: number | undefined;
  readonly conditions?: readonly Condition[] | undefined;
}

export interface APIServiceExportTemplate extends KubeObject {
  readonly spec: APIServiceExportTemplateSpec;
  readonly status?: APIServiceExportTemplateStatus | undefined;
}

const spec: Schema<APIServiceExportTemplateSpec> = object(
  {
    APIServiceSelector: object(
      { resource: resourceField },
      {
        group: groupField,
        version: string({ minLength: 1, description: "Not used: all served versions are exported." }),
      },
      { description: "The API that is offered." },
    ),
  },
  {
    permissionClaims: list(permissionClaim, {
      description:
        "Which other objects of an app cluster the provider wants to read or write for the API. Copied to each export of it.",
    }),
  },
  { description: "The API that is offered, and what the provider needs for it. Written by operators." },
);

const status: Schema<APIServiceExportTemplateStatus> = object(
  {},
  {
    kind: string({ description: "Kind of the API; absent while there is none." }),
    boundClusters: integer({ description: "How many app clusters have bound the API." }),
    conditions,
  },
  { description: "Whether the API exists and is offered. Written by the backend." },
);

/** The status of one condition. */
const conditionColumn = (type: string): PrinterColumn => ({
  name: type,
  type: "string",
  jsonPath: `.status.conditions[?(@.type=="${type}")].status`,
});

export const apiServiceExportTemplateCrd: CustomResourceDefinition = customResourceDefinition({
  group: templateGroup,
  version: "v1alpha1",
  kind: "APIServiceExportTemplate",
  plural: "apiserviceexporttemplates",
  scope: "Namespaced",
  categories: bindCategories,
  description: "Offers an API of this cluster to app clusters.",
  fields: { spec, status },
  required: ["spec"],
  columns: [
    { name: "Kind", type: "string", jsonPath: ".status.kind" },
    conditionColumn("Valid"),
    conditionColumn("Offered"),
    { name: "Bound", type: "integer", jsonPath: ".status.boundClusters" },
    readyMessageColumn,
    {
      name: "Established",
      type: "string",
      jsonPath: '.status.conditions[?(@.type=="Established")].status',
      priority: 5,
    },
    ageColumn,
  ],
});
