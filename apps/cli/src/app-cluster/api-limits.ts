/** The policies by which an app cluster refuses claims beyond the provider's limit in the request that creates them: written, compared, and removed. */
import { apiLimit } from "@klutch/api";
import { validatingAdmissionPolicies, validatingAdmissionPolicyBindings } from "@klutch/kube-core";
import type { Consumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { type ApiPolicies, liftPolicies, policiesIn, servesPolicies } from "./api-policies.ts";
import { listBindings } from "./bound-resource.ts";
import { applyManifests } from "./konnector.ts";

const limits: ApiPolicies = {
  types: [validatingAdmissionPolicies, validatingAdmissionPolicyBindings],
  policy: apiLimit,
};

/** Writes the policies of bound APIs. A cluster without such policies (before Kubernetes 1.30) is left alone: there claims say it after they are created. */
export async function writeApiLimits(
  { signal }: CliContext,
  consumer: Consumer,
  apis: readonly string[],
): Promise<void> {
  if (apis.length === 0 || !(await servesPolicies(limits, consumer, signal))) return;
  await applyManifests(consumer, apis.flatMap(apiLimit.manifestsOf), signal);
}

/** Deletes the policies of all APIs, or of one, as far as they exist. */
export function liftApiLimits(context: CliContext, consumer: Consumer, only?: string): Promise<void> {
  return liftPolicies(limits, context, consumer, only);
}

/** The policies in a cluster, compared with what Klutch writes. */
export interface ApiLimitsState {
  /** Bound APIs whose policy, or its binding, differs, or is missing although the provider limits them. */
  readonly different: readonly string[];
  /** APIs that have a policy and are not bound. */
  readonly left: readonly string[];
}

/** Compares the policies. A policy that is missing matters only where there is a limit to tell: earlier releases wrote none. */
export async function apiLimitsState(consumer: Consumer, signal: AbortSignal): Promise<ApiLimitsState> {
  const found = await policiesIn(limits, consumer, signal);
  if (found === undefined) return { different: [], left: [] };
  const bindings = (await listBindings(consumer, signal)) ?? [];
  const isLimited = new Map(
    bindings.map(({ metadata, status }) => [metadata.name ?? "", status?.limit !== undefined]),
  );
  const isWrong = (api: string): boolean =>
    found.has(api)
      ? found.get(api) === false
      : isLimited.get(api) === true && apiLimit.manifestsOf(api).length > 0;
  return {
    different: [...isLimited.keys()].filter(isWrong).toSorted(),
    left: [...found.keys()].filter((api) => !isLimited.has(api)).toSorted(),
  };
}
