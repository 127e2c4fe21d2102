/** Tenant: whose an app cluster is, who uses it, and how much of the control plane it may have. */
import type { Condition, KubeObject } from "@klutch/kube-core";
import {
  type CustomResourceDefinition,
  customResourceDefinition,
  integer,
  list,
  object,
  oneOf,
  type Schema,
  string,
} from "@klutch/schema";
import { decimalPattern } from "../decimal.ts";
import { bindGroup } from "../names.ts";
import {
  ageColumn,
  bindCategories,
  conditions,
  groupField,
  type GroupResource,
  groupResource,
  readyColumn,
  readyMessageColumn,
  resourceField,
} from "./common.ts";

/** The most objects of one kind in all service namespaces of the tenant. */
export interface ObjectMaximum extends GroupResource {
  readonly max: number;
}

export interface TenantLimits {
  /** Namespaces of the app cluster that are served. */
  readonly serviceNamespaces?: number | undefined;
  readonly objects?: readonly ObjectMaximum[] | undefined;
}

/** Amount that the tenant means to spend in a month, in UTC. The backend warns, and stops nothing. */
export interface TenantBudget {
  /** Code of ISO 4217, such as `EUR`. */
  readonly currency: string;
  /** Decimal that is more than 0, such as `250.00`. */
  readonly perMonth: string;
}

/** Sums of a month beside the budget, when the backend reported them last. */
export interface TenantBudgetStatus {
  /** `YYYY-MM`, in UTC. */
  readonly month: string;
  readonly currency: string;
  readonly spent: string;
  /** The sum at the end of the month, if the databases that exist now go on. */
  readonly projected: string;
  readonly usedPercent: number;
  /** The share of which an Event told last: 0, 80 or 100. */
  readonly warnedPercent: number;
}

/** Written by operators. Other fields are kept: other programs write Tenants, too. */
export interface TenantSpec {
  readonly displayName?: string | undefined;
  /** Text that people can write to. */
  readonly owner?: string | undefined;
  readonly limits?: TenantLimits | undefined;
  readonly budget?: TenantBudget | undefined;
  /** The next four are written by the CLI of anynines, and have no meaning for the backend. */
  readonly tenantUUID?: string | undefined;
  readonly provider?: string | undefined;
  readonly region?: string | undefined;
  readonly apis?: readonly GroupResource[] | undefined;
}

/** A person who may act for the app cluster. */
export interface TenantMember {
  /** Absent where the backend that made the tenant did not record it. */
  readonly issuer?: string | undefined;
  readonly subject: string;
  /** For people; proves nothing. */
  readonly displayName?: string | undefined;
  /** RFC 3339. */
  readonly since: string;
  readonly lastBoundAt?: string | undefined;
}

/** Written by the backend for the Tenant of a cluster namespace. */
export interface TenantStatus {
  readonly phase?: "Pending" | "Provisioning" | "Ready" | "Error" | undefined;
  readonly members?: readonly TenantMember[] | undefined;
  readonly memberCount?: number | undefined;
  readonly clusters?: number | undefined;
  /** RFC 3339; undefined if it does not end, or no backend has checked it. */
  readonly credentialEndsAt?: string | undefined;
  readonly used?: readonly (GroupResource & { readonly used: number })[] | undefined;
  readonly budget?: TenantBudgetStatus | undefined;
  readonly conditions?: readonly Condition[] | undefined;
}

/** The one that counts in a cluster namespace is called `tenant`. */
export interface Tenant extends KubeObject {
  readonly spec: TenantSpec;
  readonly status?: TenantStatus | undefined;
}

/** More members are counted, and not listed. */
export const mostMembersShown = 100;
const mostKinds = 64;
const mostObjects = 1_000_000;

const objectMaximum: Schema<ObjectMaximum> = object(
  {
    resource: resourceField,
    max: integer({
      minimum: 0,
      maximum: mostObjects,
      description: "The most objects of the kind in all service namespaces of the tenant.",
    }),
  },
  { group: groupField },
);

const limits: Schema<TenantLimits> = object(
  {},
  {
    serviceNamespaces: integer({
      minimum: 0,
      maximum: mostObjects,
      description:
        "The most namespaces of the app cluster that are served. The backend's --max-namespaces-per-cluster holds as well.",
    }),
    objects: list(objectMaximum, {
      maxItems: mostKinds,
      listType: "map",
      mapKeys: ["group", "resource"],
      description: "Kinds whose number is limited. Existing objects beyond a limit stay.",
    }),
  },
  { description: "How much the tenant may have. Default: no limits." },
);

const budget: Schema<TenantBudget> = object(
  {
    currency: string({
      maxLength: 3,
      pattern: "^[A-Z]{3}$",
      description: "Code of ISO 4217, such as EUR. Prices in another currency are not compared.",
    }),
    perMonth: string({
      maxLength: 16,
      pattern: decimalPattern,
      description: 'Amount for a month in UTC, a decimal in quotes that is more than 0, such as "250.00".',
      rules: [
        {
          rule: "self.matches('[1-9]')",
          message: 'perMonth must be more than 0, such as "250.00"; remove budget to have none',
        },
      ],
    }),
  },
  {},
  {
    description:
      "What the tenant means to spend in a month. The condition WithinBudget and Events warn; nothing is stopped. Default: no budget.",
  },
);

const budgetStatus: Schema<TenantBudgetStatus> = object(
  {
    month: string({ description: "Month in UTC, such as 2026-11." }),
    currency: string({ description: "Currency of the budget." }),
    spent: string({ description: "What was spent in the month." }),
    projected: string({
      description: "What will be spent at the end of the month if the databases that exist now go on.",
    }),
    usedPercent: integer({ minimum: 0, description: "Whole percent of the budget that is spent." }),
    warnedPercent: integer({ minimum: 0, description: "Share of which an Event told last: 0, 80 or 100." }),
  },
  {},
  { description: "The budget beside the bill, as the backend reported it last." },
);

const spec: Schema<TenantSpec> = object(
  {},
  {
    displayName: string({ maxLength: 256, description: "Name of the tenant, for people." }),
    owner: string({
      maxLength: 256,
      description:
        "Whom the tenant's people ask for more, such as an e-mail address. App clusters show it where a limit refuses an object.",
    }),
    limits,
    budget,
    tenantUUID: string({ description: "Id of the tenant in other systems. Not used by the backend." }),
    provider: string({ description: "Identity provider of the tenant. Not used by the backend." }),
    region: string({ description: "Region of the tenant. Not used by the backend." }),
    apis: list(groupResource, {
      description: "APIs that the tenant is meant to use. Not used by the backend.",
    }),
  },
  {
    keepsUnknown: true,
    description: "Written by operators. The backend creates it once, and changes nothing in it.",
  },
);

const member: Schema<TenantMember> = object(
  {
    subject: string({ description: "The issuer's own name for the person." }),
    since: string({ description: "Since when the person is a member, RFC 3339." }),
  },
  {
    issuer: string({ description: "Issuer of the identity provider." }),
    displayName: string({ description: "Name by which people know the person; it proves nothing." }),
    lastBoundAt: string({ description: "When the person bound an API last, RFC 3339." }),
  },
);

const used: Schema<GroupResource & { readonly used: number }> = object(
  {
    resource: resourceField,
    used: integer({ minimum: 0, description: "Number of objects in all service namespaces." }),
  },
  { group: groupField },
);

const status: Schema<TenantStatus> = object(
  {},
  {
    phase: oneOf(["Pending", "Provisioning", "Ready", "Error"], {
      description: "Pending without an app cluster, Error if the limits cannot be enforced.",
    }),
    members: list(member, {
      maxItems: mostMembersShown,
      description: "People who may act for the app cluster, the one it was made for first.",
    }),
    memberCount: integer({ description: "Number of members." }),
    clusters: integer({ description: "Number of app clusters." }),
    credentialEndsAt: string({
      description: "When the credential of the app cluster ends if it is not renewed, RFC 3339.",
    }),
    used: list(used, { description: "How many objects there are of each limited kind." }),
    budget: budgetStatus,
    conditions,
  },
  { keepsUnknown: true, description: "Written by the backend." },
);

export const tenantCrd: CustomResourceDefinition = customResourceDefinition({
  group: bindGroup,
  version: "v1alpha1",
  kind: "Tenant",
  plural: "tenants",
  scope: "Namespaced",
  categories: bindCategories,
  description: "Says whose an app cluster is, who uses it, and how much of the control plane it may have.",
  fields: { spec, status },
  required: ["spec"],
  columns: [
    { name: "Display Name", type: "string", jsonPath: ".spec.displayName" },
    { name: "Owner", type: "string", jsonPath: ".spec.owner" },
    { name: "Members", type: "integer", jsonPath: ".status.memberCount" },
    { name: "Clusters", type: "integer", jsonPath: ".status.clusters" },
    { name: "Phase", type: "string", jsonPath: ".status.phase" },
    readyColumn,
    readyMessageColumn,
    ageColumn,
  ],
});
