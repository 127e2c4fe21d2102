/**
 * Keeps a ProviderConfig as long as something uses it: without it nothing could be deleted at its backend any more. As Crossplane's providers
 * do, with their finalizer and their condition.
 *
 * | the ProviderConfig | used by          | then                                                                    |
 * |--------------------|------------------|-------------------------------------------------------------------------|
 * | stays              | any number       | has the finalizer; `status.users` is the number                         |
 * | is deleted         | some             | the condition Terminating says how many and by which; a Warning, once   |
 * | is deleted         | none             | the finalizer goes, when the API server says so, too                    |
 *
 * A resource created between that answer and the end of the finalizer is no user: a resource that comes after the deletion makes nothing
 * (`refuseEnding`), and the caches that both read never go back.
 */
import type { ProviderConfig } from "@klutch/api";
import type { Managed } from "@klutch/crossplane";
import { type Clock, isConflict, isNotFound, type KubeClient } from "@klutch/kube";
import {
  findCondition,
  keyOf,
  refOf,
  type ResourceType,
  type StandardCondition,
  wholeSeconds,
  withCondition,
} from "@klutch/kube-core";
import type { Reconcile } from "@klutch/kube-runtime";

/** The finalizer of Crossplane's providers. */
export const inUseFinalizer = "in-use.crossplane.io";

/** Says something about a ProviderConfig that a person should know. Must not throw. */
export type TellOfConfig = (config: ProviderConfig, message: string) => void;

/** Dependencies of `createUsersReconcile`. */
export interface UsersOptions {
  readonly client: Pick<KubeClient, "mergePatch">;
  readonly clock: Pick<Clock, "now">;
  /** The kind of ProviderConfig. */
  readonly type: ResourceType;
  readonly configOf: (key: string) => ProviderConfig | undefined;
  /** The managed resources that name the ProviderConfig, as far as the caches show. */
  readonly usersOf: (key: string) => readonly Managed[];
  /** Asks the API server whether a managed resource names it now. */
  readonly isUsed: (key: string, options: { readonly signal: AbortSignal }) => Promise<boolean>;
  /** Told once of a deletion that has to wait. */
  readonly onInUse: TellOfConfig;
}

/** Returns the patch; undefined: nothing to write. */
type Plan =
  | { readonly kind: "protect" | "release"; readonly finalizers: readonly string[] }
  | { readonly kind: "count"; readonly status: ProviderConfig["status"] }
  | {
      readonly kind: "hold";
      readonly status: ProviderConfig["status"];
      readonly message: string;
      readonly isNew: boolean;
    };

/** Until the caches show what the API server has. */
const cachesMs = 1_000;
/** Users that are named in a message. */
const shownUsers = 3;

/** The reconcile function; keys are those of ProviderConfigs of the kind. */
export function createUsersReconcile(options: UsersOptions): Reconcile {
  const { client, clock, type, configOf, usersOf, isUsed, onInUse } = options;
  return async (key, { signal }) => {
    const config = configOf(key);
    const plan = config === undefined ? undefined : planUsers(config, usersOf(key), clock.now());
    if (config === undefined || plan === undefined) return undefined;
    if (plan.kind === "release" && (await isUsed(key, { signal }))) return { requeueAfterMs: cachesMs };
    // What was decided holds for this version only.
    const { resourceVersion } = config.metadata;
    try {
      if ("finalizers" in plan) {
        const metadata = { resourceVersion, finalizers: plan.finalizers };
        await client.mergePatch(type, refOf(key), { metadata }, { signal });
        return undefined;
      }
      const body = { metadata: { resourceVersion }, status: plan.status };
      await client.mergePatch(type, refOf(key), body, { subresource: "status", signal });
      if (plan.kind === "hold" && plan.isNew) onInUse(config, plan.message);
      return undefined;
    } catch (error) {
      // It went meanwhile, or it changed: then the watch says so.
      if (isNotFound(error) || isConflict(error)) return undefined;
      throw error;
    }
  };
}

/** See the table above; one step at a time. */
export function planUsers(
  { kind, metadata, status }: ProviderConfig,
  users: readonly Managed[],
  now: number,
): Plan | undefined {
  const { finalizers = [], deletionTimestamp, generation } = metadata;
  const isProtected = finalizers.includes(inUseFinalizer);
  if (deletionTimestamp === undefined) {
    if (!isProtected) return { kind: "protect", finalizers: [...finalizers, inUseFinalizer] };
    return status?.users === users.length ? undefined : { kind: "count", status: { users: users.length } };
  }
  if (!isProtected) return undefined;
  if (users.length === 0)
    return { kind: "release", finalizers: finalizers.filter((name) => name !== inUseFinalizer) };
  const message = `the ${kind} is still used by ${listed(users)}; delete them first. Nothing new is made with it`;
  const said = findCondition(status?.conditions, "Terminating");
  if (status?.users === users.length && said?.message === message) return undefined;
  const condition: Omit<StandardCondition, "lastTransitionTime"> = {
    type: "Terminating",
    status: "True",
    reason: "InUse",
    message,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
  const conditions = withCondition(status?.conditions, condition, wholeSeconds(now));
  return {
    kind: "hold",
    message,
    isNew: said === undefined,
    status: { users: users.length, conditions },
  };
}

/** Returns the count and some names. */
function listed(users: readonly Managed[]): string {
  const names = users.map(({ kind, metadata }) => `${kind} ${keyOf({ metadata })}`).toSorted();
  const more = names.length - shownUsers;
  const shown = names.slice(0, shownUsers).join(", ");
  const count = names.length === 1 ? "1 managed resource" : `${names.length} managed resources`;
  return more > 0 ? `${count}: ${shown} and ${more} more` : `${count}: ${shown}`;
}
