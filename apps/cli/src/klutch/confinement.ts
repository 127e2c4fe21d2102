/** The admission policy behind the konnector's roles: written with what is bound, and taken away when another agent takes over. */
import {
  type AnsweredPermissionClaim,
  konnectorPolicyManifests,
  konnectorPolicyName,
  konnectorScopeOf,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from "@klutch/api";
import { discoverResource, type DynamicObject, isRecord } from "@klutch/kube";
import { type Consumer, pluginManager } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { listBindings } from "./bound-resource.ts";

/** An API that is about to be bound. */
export interface AnsweredApi {
  readonly name: string;
  readonly claims: readonly AnsweredPermissionClaim[];
}

/** Whether this cluster can have such a policy at all. */
export async function canConfine(consumer: Consumer, signal: AbortSignal): Promise<boolean> {
  return (await discoverResource(consumer.client, validatingAdmissionPolicies, { signal })) !== undefined;
}

/**
 * Writes the policy for everything that is bound and for `coming`. A cluster without such policies (before Kubernetes 1.30) is told of
 * and left alone: there the roles are the only line.
 */
export async function confineKonnector(
  context: CliContext,
  consumer: Consumer,
  coming: readonly AnsweredApi[] = [],
): Promise<void> {
  const { signal, terminal } = context;
  if (!(await canConfine(consumer, signal))) {
    terminal.say(
      "This cluster has no ValidatingAdmissionPolicy (Kubernetes 1.30): roles alone confine the konnector.",
    );
    return;
  }
  const scope = await scopeIn(consumer, coming, signal);
  for (const manifest of konnectorPolicyManifests(scope)) {
    const type =
      manifest.kind === "ValidatingAdmissionPolicy"
        ? validatingAdmissionPolicies
        : validatingAdmissionPolicyBindings;
    await consumer.client.apply(type, manifest, { fieldManager: pluginManager, force: true, signal });
  }
}

/** The same where there is a policy already: where an agent runs that Klutch did not install, none is begun. */
export async function refreshConfinement(
  context: CliContext,
  consumer: Consumer,
  coming: readonly AnsweredApi[] = [],
): Promise<void> {
  if ((await policyState(consumer, context.signal)) !== "absent")
    await confineKonnector(context, consumer, coming);
}

/** Whether the policy is as what is bound needs it. `unserved` when this cluster cannot have one. */
export async function policyState(
  consumer: Consumer,
  signal: AbortSignal,
): Promise<"right" | "different" | "absent" | "unserved"> {
  if (!(await canConfine(consumer, signal))) return "unserved";
  const ref = { name: konnectorPolicyName };
  const policy = await consumer.client.find<DynamicObject>(validatingAdmissionPolicies, ref, { signal });
  const binding = await consumer.client.find<DynamicObject>(validatingAdmissionPolicyBindings, ref, {
    signal,
  });
  if (policy === undefined && binding === undefined) return "absent";
  const wanted = konnectorPolicyManifests(await scopeIn(consumer, [], signal));
  const isSame = [policy, binding].every(
    (found, index) => found !== undefined && contains(found.spec, wanted[index]?.["spec"]),
  );
  return isSame ? "right" : "different";
}

/** Deletes the policy. Returns whether there was one. */
export async function liftConfinement(consumer: Consumer, signal: AbortSignal): Promise<boolean> {
  if (!(await canConfine(consumer, signal))) return false;
  const ref = { name: konnectorPolicyName };
  const hadBinding = await consumer.client.delete(validatingAdmissionPolicyBindings, ref, { signal });
  const hadPolicy = await consumer.client.delete(validatingAdmissionPolicies, ref, { signal });
  return hadBinding || hadPolicy;
}

async function scopeIn(
  consumer: Consumer,
  coming: readonly AnsweredApi[],
  signal: AbortSignal,
): Promise<ReturnType<typeof konnectorScopeOf>> {
  const bound = ((await listBindings(consumer, signal)) ?? []).map(({ metadata, spec }) => ({
    name: metadata.name ?? "",
    claims: spec.permissionClaims ?? [],
  }));
  return konnectorScopeOf([...bound, ...coming]);
}

/** Whether everything in `wanted` is in `found`; the server adds defaults of its own. */
function contains(found: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted))
    return (
      Array.isArray(found) &&
      found.length === wanted.length &&
      wanted.every((item, index) => contains(found[index], item))
    );
  if (!isRecord(wanted)) return found === wanted;
  return isRecord(found) && Object.entries(wanted).every(([key, value]) => contains(found[key], value));
}
