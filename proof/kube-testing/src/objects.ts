/** Ordinary objects that many tests make. */
import {
  apiVersionOf,
  type DynamicObject,
  type KubeObject,
  type ObjectMeta,
  type ObjectRef,
  type ResourceType,
} from "@klutch/kube-core";

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

/** A field that may hold any object. */
export const anyObject = { type: "object", "x-kubernetes-preserve-unknown-fields": true } as const;

/** Conditions as the API conventions want them: a list with one of each type. */
export const conditionsSchema = {
  type: "array",
  items: {
    type: "object",
    required: ["type", "status", "lastTransitionTime", "reason"],
    properties: {
      type: { type: "string" },
      status: { type: "string" },
      reason: { type: "string" },
      message: { type: "string" },
      lastTransitionTime: { type: "string", format: "date-time" },
      observedGeneration: { type: "integer", format: "int64" },
    },
  },
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["type"],
} as const;

/** A CRD with one version. Its objects have just these properties, by default none. */
export function crdObject(
  { group, version, plural, kind, namespaced }: ResourceType,
  options: {
    readonly properties?: Readonly<Record<string, unknown>> | undefined;
    /** True if the status is a subresource. Default false. */
    readonly hasStatus?: boolean | undefined;
  } = {},
): DynamicObject {
  const { properties, hasStatus = false } = options;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: namespaced ? "Namespaced" : "Cluster",
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: { type: "object", ...(properties === undefined ? {} : { properties }) },
          },
          ...(hasStatus ? { subresources: { status: {} } } : {}),
        },
      ],
    },
  };
}
