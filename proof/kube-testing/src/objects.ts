/** Ordinary objects that many tests make. */
import {
  apiVersionOf,
  type DynamicObject,
  type KubeObject,
  type ObjectMeta,
  type ObjectRef,
  type PolicyRule,
  type ResourceType,
} from "@klutch/kube-core";
import {
  anyObject as anyObjectOf,
  customResourceDefinition,
  integer,
  type JsonSchema,
  list,
  object,
  string,
} from "@klutch/schema";

const rbac = "rbac.authorization.k8s.io";

/** An object of a resource: its metadata, and its other fields by name. */
export function objectOfType(type: ResourceType, metadata: ObjectMeta, fields: object = {}): DynamicObject {
  return { apiVersion: apiVersionOf(type), kind: type.kind, metadata, ...fields };
}

/** A Namespace. */
export function namespaceObject(name: string, annotations?: Readonly<Record<string, string>>): KubeObject {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, annotations } };
}

/** A ServiceAccount. */
export function serviceAccountObject(ref: ObjectRef): KubeObject {
  return { apiVersion: "v1", kind: "ServiceAccount", metadata: ref };
}

/** A Secret from plain texts. */
export function secretObject(
  namespace: string,
  name: string,
  texts: Readonly<Record<string, string>>,
): DynamicObject {
  const data = Object.fromEntries(
    Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")]),
  );
  return { apiVersion: "v1", kind: "Secret", metadata: { namespace, name }, type: "Opaque", data };
}

/** A Role, or without a namespace a ClusterRole. */
export function roleObject({ namespace, name }: ObjectRef, rules: unknown): DynamicObject {
  const kind = namespace === undefined ? "ClusterRole" : "Role";
  return { apiVersion: `${rbac}/v1`, kind, metadata: { namespace, name }, rules };
}

/** Gives the rights of a role to a service account: in the binding's namespace, without one in the whole cluster. */
export function roleBindingObject(
  { namespace, name }: ObjectRef,
  role: { readonly kind: "ClusterRole" | "Role"; readonly name: string },
  account: ObjectRef,
): DynamicObject {
  return {
    apiVersion: `${rbac}/v1`,
    kind: namespace === undefined ? "ClusterRoleBinding" : "RoleBinding",
    metadata: { namespace, name },
    roleRef: { apiGroup: rbac, ...role },
    subjects: [{ kind: "ServiceAccount", ...account }],
  };
}

/** A person or a group, as RBAC names them. */
export type Subject = readonly [kind: "User" | "Group", name: string];

/** Gives the rights of a ClusterRole to people and groups, in the whole cluster. */
export function peopleBindingObject(
  name: string,
  clusterRole: string,
  people: readonly Subject[],
): DynamicObject {
  return {
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: clusterRole },
    subjects: people.map(([kind, subject]) => ({ apiGroup: rbac, kind, name: subject })),
  };
}

/** A rule on objects of a kind; without names on all of them. */
export function ruleOn(
  { group, plural }: ResourceType,
  verbs: readonly string[],
  resourceNames: readonly string[] = [],
): PolicyRule {
  return { apiGroups: [group], resources: [plural], resourceNames, verbs };
}

/** A field that may hold any object. */
export const anyObject: JsonSchema = anyObjectOf().json;

const condition = object(
  { type: string(), status: string(), lastTransitionTime: string({ format: "date-time" }), reason: string() },
  { message: string(), observedGeneration: integer({ format: "int64" }) },
);

/** Conditions as the API conventions want them: a list with one of each type. */
export const conditionsSchema: JsonSchema = list(condition, { listType: "map", mapKeys: ["type"] }).json;

/** A CRD with one version. Its objects have just these properties, by default none. */
export function crdObject(
  type: ResourceType,
  options: {
    readonly properties?: Readonly<Record<string, object>> | undefined;
    /** True if the status is a subresource. Default false. */
    readonly hasStatus?: boolean | undefined;
  } = {},
): DynamicObject {
  const fields = Object.entries(options.properties ?? {}).map(
    ([name, json]) => [name, { json: { ...json } }] as const,
  );
  const crd = customResourceDefinition({
    ...type,
    scope: type.namespaced ? "Namespaced" : "Cluster",
    fields: Object.fromEntries(fields),
    description: `A ${type.kind}.`,
    statusSubresource: options.hasStatus ?? false,
  });
  return { ...crd };
}
