/** Writes the admission policy behind the konnector's roles for the bound APIs, and removes it when another agent takes over. */
import {
  autoBindAnnotation,
  autoBindRole,
  konnectorPolicyManifests,
  konnectorPolicyName,
  konnectorScopeOf,
  parseAutoBind,
} from "@klutch/api";
import { discoverResource } from "@klutch/kube";
import {
  clusterRoles,
  contains,
  type DynamicObject,
  type Role,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from "@klutch/kube-core";
import type { Consumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { applyManifests } from "./konnector.ts";
import { readAnswers } from "./answers.ts";
import type { BoundApi } from "./rights.ts";
import { readUpdates } from "./updates.ts";

/** Returns true if the cluster serves ValidatingAdmissionPolicy. */
async function canConfine(consumer: Consumer, signal: AbortSignal): Promise<boolean> {
  return (await discoverResource(consumer.client, validatingAdmissionPolicies, { signal })) !== undefined;
}

/**
 * Writes the policy for everything that is bound and for `coming`. A cluster without such policies (before Kubernetes 1.30) is told of
 * and left alone: there the roles are the only line.
 */
export async function confineKonnector(
  context: CliContext,
  consumer: Consumer,
  coming: readonly BoundApi[] = [],
): Promise<void> {
  const { signal, terminal } = context;
  if (!(await canConfine(consumer, signal))) {
    terminal.say(
      "This cluster does not serve ValidatingAdmissionPolicy (Kubernetes 1.30 or newer). Only roles restrict the konnector.",
    );
    return;
  }
  await applyManifests(consumer, konnectorPolicyManifests(await scopeIn(consumer, coming, signal)), signal);
}

/** The same where there is a policy already: where an agent runs that Klutch did not install, none is begun. */
export async function refreshConfinement(
  context: CliContext,
  consumer: Consumer,
  coming: readonly BoundApi[] = [],
): Promise<void> {
  const present = await readPolicy(consumer, context.signal);
  if (present === "unserved" || present.some((object) => object !== undefined))
    await confineKonnector(context, consumer, coming);
}

/** Compares the policy with the one that the bindings require. Returns `unserved` if the cluster cannot have one. */
export async function policyState(
  consumer: Consumer,
  signal: AbortSignal,
): Promise<"right" | "different" | "absent" | "unserved"> {
  const present = await readPolicy(consumer, signal);
  if (present === "unserved") return present;
  if (present.every((object) => object === undefined)) return "absent";
  const wanted = konnectorPolicyManifests(await scopeIn(consumer, [], signal));
  const isSame = present.every(
    (found, index) => found !== undefined && contains(found.spec, wanted[index]?.["spec"]),
  );
  return isSame ? "right" : "different";
}

/** The policy and its binding, as far as they are there. */
async function readPolicy(
  consumer: Consumer,
  signal: AbortSignal,
): Promise<readonly (DynamicObject | undefined)[] | "unserved"> {
  if (!(await canConfine(consumer, signal))) return "unserved";
  const ref = { name: konnectorPolicyName };
  return Promise.all(
    [validatingAdmissionPolicies, validatingAdmissionPolicyBindings].map((type) =>
      consumer.client.find<DynamicObject>(type, ref, { signal }),
    ),
  );
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
  coming: readonly BoundApi[],
  signal: AbortSignal,
): Promise<ReturnType<typeof konnectorScopeOf>> {
  const [{ bindings = [] }, role, updates] = await Promise.all([
    readAnswers(consumer, signal),
    consumer.client.find<Role>(clusterRoles, { name: autoBindRole }, { signal }),
    readUpdates(consumer, signal),
  ]);
  const autoBind = role && parseAutoBind(role.metadata.annotations?.[autoBindAnnotation]);
  return konnectorScopeOf([...bindings, ...coming], autoBind, updates);
}
