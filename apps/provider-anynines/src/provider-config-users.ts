/**
 * Keeps a ProviderConfig as long as something uses it: without it nothing could be deleted at its backend any more. As Crossplane's providers
 * do, with their finalizer and their condition.
 *
 * | the ProviderConfig | used by          | then                                                                    |
 * |--------------------|------------------|-------------------------------------------------------------------------|
 * | stays              | any number       | has the finalizer; `status.users` is the number                         |
 * | is deleted         | some             | the condition Terminating and a Warning say how many                     |
 * | is deleted         | none             | the finalizer goes                                                      |
 */
import { type ProviderConfig, providerConfigs } from "@klutch/api";
import { type Clock, isConflict, isNotFound, type KubeClient } from "@klutch/kube";
import { findCondition, type StandardCondition, wholeSeconds, withCondition } from "@klutch/kube-core";
import type { Reconcile } from "@klutch/kube-runtime";

/** Of Crossplane's providers. */
export const inUseFinalizer = "in-use.crossplane.io";

/** What `createUsersReconcile` needs. */
export interface UsersOptions {
  readonly client: KubeClient;
  readonly clock: Pick<Clock, "now">;
  readonly configOf: (name: string) => ProviderConfig | undefined;
  /** How many managed resources name the ProviderConfig. */
  readonly usersOf: (name: string) => number;
  /** Says something about a ProviderConfig that a person should know. Must not throw. */
  readonly onInUse: (config: ProviderConfig, message: string) => void;
}

/** What is written; undefined: nothing. */
type Plan =
  | { readonly kind: "protect" | "release"; readonly finalizers: readonly string[] }
  | { readonly kind: "status"; readonly status: ProviderConfig["status"]; readonly message?: string }
  | undefined;

/** The reconcile function; keys are names of ProviderConfigs. */
export function createUsersReconcile(options: UsersOptions): Reconcile {
  const { client, clock, configOf, usersOf, onInUse } = options;
  return async (name, { signal }) => {
    const config = configOf(name);
    if (config === undefined) return;
    const plan = planUsers(config, usersOf(name), clock.now());
    if (plan === undefined) return;
    const { resourceVersion } = config.metadata;
    try {
      if (plan.kind === "status") {
        const { status, message } = plan;
        if (message !== undefined) onInUse(config, message);
        const body = { metadata: { resourceVersion }, status };
        await client.mergePatch(providerConfigs, { name }, body, { subresource: "status", signal });
        return;
      }
      const metadata = { resourceVersion, finalizers: plan.finalizers };
      await client.mergePatch(providerConfigs, { name }, { metadata }, { signal });
    } catch (error) {
      // It went meanwhile, or it changed: then the watch says so.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  };
}

/** See the table above; one step at a time. */
export function planUsers({ metadata, status }: ProviderConfig, users: number, now: number): Plan {
  const { finalizers = [], deletionTimestamp } = metadata;
  const isProtected = finalizers.includes(inUseFinalizer);
  if (deletionTimestamp === undefined) {
    if (!isProtected) return { kind: "protect", finalizers: [...finalizers, inUseFinalizer] };
    return status?.users === users ? undefined : { kind: "status", status: { users } };
  }
  if (!isProtected) return undefined;
  if (users === 0)
    return { kind: "release", finalizers: finalizers.filter((name) => name !== inUseFinalizer) };
  const message = `the ProviderConfig is still used by ${users} managed resources; delete these first`;
  const said = findCondition(status?.conditions, "Terminating");
  if (status?.users === users && said?.message === message) return undefined;
  const condition: Omit<StandardCondition, "lastTransitionTime"> = {
    type: "Terminating",
    status: "True",
    reason: "InUse",
    message,
  };
  const conditions = withCondition(status?.conditions, condition, wholeSeconds(now));
  return { kind: "status", message, status: { users, conditions } };
}
