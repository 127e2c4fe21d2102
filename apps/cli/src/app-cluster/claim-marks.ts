/** The policies by which an app cluster marks new claims in the request that creates them: written if a person asks for it, kept right, and removed. */
import { claimMarksApi, claimMarksManifests, claimMarksName } from "@klutch/api";
import { discoverResource } from "@klutch/kube";
import {
  contains,
  type DynamicObject,
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
} from "@klutch/kube-core";
import type { Consumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { applyManifests } from "./konnector.ts";

/** Writes the policies of bound APIs. A cluster without such policies is told of and left alone: there the konnector marks claims. */
export async function writeClaimMarks(
  { signal, terminal }: CliContext,
  consumer: Consumer,
  apis: readonly string[],
): Promise<void> {
  if (apis.length === 0) return;
  if (!(await areServed(consumer, signal))) {
    terminal.say(
      "This cluster does not serve MutatingAdmissionPolicy v1 (Kubernetes 1.36 or newer). The konnector marks new claims.",
    );
    return;
  }
  for (const api of apis) {
    await applyManifests(consumer, claimMarksManifests(api), signal);
    terminal.say(
      `Applied MutatingAdmissionPolicy ${claimMarksName(api)}: this cluster marks new claims when they are created.`,
    );
  }
}

/** Deletes the policies of all APIs, or of one, as far as they exist. */
export async function liftClaimMarks(
  { signal, terminal }: CliContext,
  consumer: Consumer,
  only?: string,
): Promise<void> {
  for (const api of (await marksIn(consumer, signal)).keys()) {
    if (only !== undefined && api !== only) continue;
    const name = claimMarksName(api);
    await consumer.client.delete(mutatingAdmissionPolicyBindings, { name }, { signal });
    await consumer.client.delete(mutatingAdmissionPolicies, { name }, { signal });
    terminal.say(`Deleted MutatingAdmissionPolicy ${name}.`);
  }
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
  const marks = await marksIn(consumer, signal);
  const apis = [...marks.keys()].toSorted();
  return {
    different: apis.filter((api) => bound.has(api) && marks.get(api) !== true),
    left: apis.filter((api) => !bound.has(api)),
  };
}

const areServed = async ({ client }: Consumer, signal: AbortSignal): Promise<boolean> =>
  (await discoverResource(client, mutatingAdmissionPolicies, { signal })) !== undefined;

/** Returns the APIs that have a policy or a policy binding of Klutch, and whether both are as Klutch writes them. */
async function marksIn(consumer: Consumer, signal: AbortSignal): Promise<ReadonlyMap<string, boolean>> {
  if (!(await areServed(consumer, signal))) return new Map();
  const found = await Promise.all(
    [mutatingAdmissionPolicies, mutatingAdmissionPolicyBindings].map((type) =>
      Array.fromAsync(consumer.client.listAll<DynamicObject>(type, { signal })),
    ),
  );
  const apis = new Set(found.flat().flatMap((object) => claimMarksApi(object) ?? []));
  const isRight = (api: string): boolean =>
    claimMarksManifests(api).every((wanted, index) =>
      contains(
        found[index]?.find(({ metadata }) => metadata.name === wanted.metadata.name)?.spec,
        wanted["spec"],
      ),
    );
  return new Map([...apis].map((api) => [api, isRight(api)]));
}
