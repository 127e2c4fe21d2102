/** Ordinary objects that many tests make. */
import type { DynamicObject, ObjectRef } from "@klutch/kube-core";

const rbac = "rbac.authorization.k8s.io";

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
