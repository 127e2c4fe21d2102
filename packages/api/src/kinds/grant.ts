/** Grant: a person got credentials for an app cluster to use one API. */
import type { KubeObject } from "@klutch/kube-core";
import {
  type CustomResourceDefinition,
  customResourceDefinition,
  list,
  object,
  type Schema,
  string,
} from "@klutch/schema";
import { bindGroup } from "../names.ts";
import { ageColumn, bindCategories, groupField, type GroupResource, resourceField } from "./common.ts";

/** A person as the identity provider vouched for them at the time. */
export interface GrantIdentity {
  readonly issuer: string;
  readonly subject: string;
  /** Names in the control plane's RBAC. */
  readonly user: string;
  readonly groups?: readonly string[] | undefined;
  /** For people; proves nothing. */
  readonly displayName?: string | undefined;
}

/** A template by its place. */
export interface TemplateReference {
  readonly namespace: string;
  readonly name: string;
}

export interface GrantSpec {
  readonly identity: GrantIdentity;
  readonly api: GroupResource;
  readonly template: TemplateReference;
  /** RFC 3339: when the person bound the API last. */
  readonly boundAt: string;
  /** `confirmed`, `device`, `redirect`, `ci` or `session`; backends of earlier releases wrote none of these. */
  readonly way?: string | undefined;
  /** Address of the client at that time, as far as the backend knew it. */
  readonly address?: string | undefined;
  /** For people; proves nothing. */
  readonly clusterName?: string | undefined;
  /** Permission claims that the app cluster accepted after this bind. */
  readonly permissionClaims?: readonly string[] | undefined;
}

/** Written by the backend into the cluster namespace before it hands out a credential. */
export interface Grant extends KubeObject {
  readonly spec: GrantSpec;
}

const text = (description: string): Schema<string> => string({ minLength: 1, description });

const identity: Schema<GrantIdentity> = object(
  {
    issuer: text("Issuer of the identity provider."),
    subject: text("The issuer's own name for the person."),
    user: text("User name of the person in the control plane's RBAC."),
  },
  {
    groups: list(string(), {
      description: "Groups of the person in the control plane's RBAC when the API was bound.",
    }),
    displayName: string({ description: "Name by which people know the person." }),
  },
  { description: "Who bound the API." },
);

const api: Schema<GroupResource> = object(
  { resource: resourceField },
  { group: groupField },
  { description: "The API that was bound." },
);

const template: Schema<TemplateReference> = object(
  { namespace: text("Namespace of the template."), name: text("Name of the template.") },
  {},
  { description: "The APIServiceExportTemplate on which the person had the right to bind." },
);

const spec: Schema<GrantSpec> = object(
  {
    identity,
    api,
    template,
    boundAt: text("When the person bound the API last, RFC 3339."),
  },
  {
    way: string({
      description:
        "Way in which the person got the credentials: `confirmed`, `device`, `redirect`, `ci`, `session` or `token`, as in docs/reference/audit.md.",
    }),
    address: string({ description: "Address of the client when the API was bound." }),
    clusterName: string({ description: "Name of the app cluster for people when the API was bound." }),
    permissionClaims: list(string(), {
      description:
        "Permission claims that the app cluster accepted after the bind, as `<resource>.<group>`. Absent until it has answered.",
    }),
  },
  { description: "Who got what, and when." },
);

export const grantCrd: CustomResourceDefinition = customResourceDefinition({
  group: bindGroup,
  version: "v1alpha1",
  kind: "Grant",
  plural: "grants",
  scope: "Namespaced",
  categories: bindCategories,
  description: "Records that a person got credentials for an app cluster to use an API.",
  fields: { spec },
  required: ["spec"],
  columns: [
    { name: "User", type: "string", jsonPath: ".spec.identity.user" },
    { name: "Person", type: "string", jsonPath: ".spec.identity.displayName" },
    { name: "API", type: "string", jsonPath: ".spec.api.resource" },
    { name: "Bound", type: "date", jsonPath: ".spec.boundAt" },
    ageColumn,
  ],
});
