/** Objects of Kubernetes' own kinds, as far as Klutch reads or writes them; the fields are those of kubernetes-types. */
import type { DeploymentSpec, DeploymentStatus } from "kubernetes-types/apps/v1.d.ts";
import type { LeaseSpec } from "kubernetes-types/coordination/v1.d.ts";
import type * as rbac from "kubernetes-types/rbac/v1.d.ts";
import type { KubeObject } from "./object.ts";

/**
 * The shape as a cache holds it: nothing can be changed, at any depth, and a field that may be absent may also be undefined, which does not
 * reach the wire.
 */
export type Immutable<T> = T extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : T extends object
    ? {
        readonly [K in keyof T]:
          | Immutable<T[K]>
          | (Record<never, never> extends Pick<T, K> ? undefined : never);
      }
    : T;

/** A Deployment. */
export interface Deployment extends KubeObject {
  readonly spec?: Immutable<DeploymentSpec> | undefined;
  readonly status?: Immutable<DeploymentStatus> | undefined;
}

/** A Lease: who holds it, since when and for how long. */
export interface Lease extends KubeObject {
  readonly spec?: Immutable<LeaseSpec> | undefined;
}

/** A Secret; the values of `data` are base64. */
export interface Secret extends KubeObject {
  readonly type?: string | undefined;
  readonly immutable?: boolean | undefined;
  readonly data?: Readonly<Record<string, string>> | undefined;
}

/** `rules[]` of a Role or ClusterRole. */
export type PolicyRule = Immutable<rbac.PolicyRule>;

/** A Role or a ClusterRole. A server writes a list without items as null. */
export interface Role extends KubeObject {
  readonly rules?: readonly PolicyRule[] | null | undefined;
}

/** A RoleBinding or a ClusterRoleBinding. */
export interface RoleBinding extends KubeObject {
  readonly roleRef: Immutable<rbac.RoleRef>;
  readonly subjects?: readonly Immutable<rbac.Subject>[] | undefined;
}
