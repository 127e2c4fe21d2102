/** The groups that count: those that a role binding of the control plane names. A login with thousands of groups keeps only these. */
import type { Clock, KubeClient } from "@klutch/kube";
import { clusterRoleBindings, type KubeObject, recordsAt, roleBindings } from "@klutch/kube-core";
import { UserError } from "../errors.ts";
import { createRemembered } from "./remembered.ts";

/** Time for which the names that were read count. A login is rare, and reading all role bindings is not cheap. */
const rememberedMs = 60_000;

/** A control plane has thousands of role bindings at most, by pages. */
const timeoutMs = 10_000;

/** Returns a function that keeps the groups that a RoleBinding or ClusterRoleBinding names. */
export function createKnownGroups(parts: {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}): (groups: readonly string[]) => Promise<readonly string[]> {
  const { client, clock, signal } = parts;
  const remembered = createRemembered<ReadonlySet<string>>({ clock, forMs: rememberedMs, most: 1 });
  const readNames = async (): Promise<ReadonlySet<string>> => {
    const names = new Set<string>();
    const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    try {
      for (const type of [clusterRoleBindings, roleBindings])
        for await (const binding of client.listAll<KubeObject>(type, { signal: limited }))
          for (const { kind, name } of recordsAt(binding, "subjects"))
            if (kind === "Group" && typeof name === "string") names.add(name);
    } catch (cause) {
      throw new UserError(
        503,
        "The control plane does not say at the moment which of your many groups count.",
        "Try again in a minute. If it goes on, ask the platform operator.",
        { cause },
      );
    }
    return names;
  };
  return async (groups) => {
    const names = await remembered("all", readNames);
    return groups.filter((group) => names.has(group));
  };
}
