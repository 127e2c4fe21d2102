/** AppCluster: an app cluster whose konnector binds by itself, with a token of its own service account instead of a person's login. */
import type { Condition, KubeObject } from "@klutch/kube-core";
import {
  type CustomResourceDefinition,
  customResourceDefinition,
  object,
  type Schema,
  string,
} from "@klutch/schema";
import { bindGroup, consumerNamespace, konnectorName } from "../names.ts";
import { ageColumn, bindCategories, conditions, readyColumn, readyMessageColumn } from "./common.ts";

/** Service account tokens by which the konnector proves which cluster it is in. */
export interface AppClusterIdentity {
  readonly issuer: string;
  /** Default `system:serviceaccount:klutch-bind:konnector`. */
  readonly subject?: string | undefined;
  /** JSON Web Key Set (RFC 7517 §5) as text. */
  readonly jwks: string;
}

/** Written by operators. */
export interface AppClusterSpec {
  readonly displayName?: string | undefined;
  readonly identity: AppClusterIdentity;
}

/** Written by the backend. */
export interface AppClusterStatus {
  /** Cluster namespace; absent until the konnector has bound an API. */
  readonly namespace?: string | undefined;
  readonly conditions?: readonly Condition[] | undefined;
}

export interface AppCluster extends KubeObject {
  readonly spec: AppClusterSpec;
  readonly status?: AppClusterStatus | undefined;
}

/** Subject of the konnector's tokens unless the object names another one. */
export const konnectorSubject: string = `system:serviceaccount:${consumerNamespace}:${konnectorName}`;

const identity: Schema<AppClusterIdentity> = object(
  {
    issuer: string({
      minLength: 1,
      maxLength: 512,
      description:
        "Issuer of the app cluster's service account tokens: `kubectl get --raw /.well-known/openid-configuration` there says it.",
    }),
    jwks: string({
      minLength: 2,
      maxLength: 65_536,
      description: "Public keys of that issuer: the output of `kubectl get --raw /openid/v1/jwks` there.",
    }),
  },
  {
    subject: string({
      maxLength: 512,
      default: konnectorSubject,
      description: "Service account of the konnector, as `system:serviceaccount:NAMESPACE:NAME`.",
    }),
  },
  { description: "By which tokens the konnector of this app cluster is known." },
);

const spec: Schema<AppClusterSpec> = object(
  { identity },
  {
    displayName: string({
      maxLength: 256,
      description: "Name of the app cluster, for people. Default: the object's name.",
    }),
  },
  { description: "Which app cluster it is. Written by operators." },
);

const status: Schema<AppClusterStatus> = object(
  {},
  {
    namespace: string({ description: "The cluster namespace; absent until the konnector has bound an API." }),
    conditions,
  },
  { description: "Whether the app cluster has bound APIs. Written by the backend." },
);

export const appClusterCrd: CustomResourceDefinition = customResourceDefinition({
  group: bindGroup,
  version: "v1alpha1",
  kind: "AppCluster",
  plural: "appclusters",
  scope: "Cluster",
  categories: bindCategories,
  description:
    "Lets the konnector of an app cluster bind APIs by itself, within the rights of the user `klutch:app-cluster:<name>`.",
  fields: { spec, status },
  required: ["spec"],
  columns: [
    { name: "Namespace", type: "string", jsonPath: ".status.namespace" },
    readyColumn,
    readyMessageColumn,
    ageColumn,
  ],
});
