/** The policies by which an app cluster marks new claims in the request that creates them: written if a person asks for it, kept right, and removed. */
import { claimMarks } from "@klutch/api";
import { mutatingAdmissionPolicies, mutatingAdmissionPolicyBindings } from "@klutch/kube-core";
import type { Consumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { type ApiPolicies, liftPolicies, policiesIn, servesPolicies } from "./api-policies.ts";
import { applyManifests } from "./konnector.ts";

const marks: ApiPolicies = {
  types: [mutatingAdmissionPolicies, mutatingAdmissionPolicyBindings],
  policy: claimMarks,
};

/** Writes the policies of bound APIs. A cluster without such policies is told of and left alone: there the konnector marks claims. */
export async function writeClaimMarks(
  { signal, terminal }: CliContext,
  consumer: Consumer,
  apis: readonly string[],
): Promise<void> {
  if (apis.length === 0) return;
  if (!(await servesPolicies(marks, consumer, signal))) {
    terminal.say(
      "This cluster does not serve MutatingAdmissionPolicy v1 (Kubernetes 1.36 or newer). The konnector marks new claims.",
    );
    return;
  }
  for (const api of apis) {
    await applyManifests(consumer, claimMarks.manifestsOf(api), signal);
    terminal.say(
      `Applied MutatingAdmissionPolicy ${claimMarks.nameOf(api)}: this cluster marks new claims when they are created.`,
    );
  }
}

/** Deletes the policies of all APIs, or of one, as far as they exist. */
export function liftClaimMarks(context: CliContext, consumer: Consumer, only?: string): Promise<void> {
  return liftPolicies(marks, context, consumer, only);
}

/** The policies in a cluster, compared with what Klutch writes. */
export interface ClaimMarksState {
  /** Bound APIs whose policy, or its binding, differs or is missing. */
  readonly different: readonly string[];
  /** APIs that have a policy and are not bound. */
  readonly left: readonly string[];
}

/** Compares the policies that exist; an API without one is marked by the konnector, which is right, too. */
export async function claimMarksState(
  consumer: Consumer,
  bound: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<ClaimMarksState> {
  const found = await policiesIn(marks, consumer, signal);
  const apis = [...(found?.keys() ?? [])].toSorted();
  return {
    different: apis.filter((api) => bound.has(api) && found?.get(api) !== true),
    left: apis.filter((api) => !bound.has(api)),
  };
}
