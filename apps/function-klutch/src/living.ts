/**
 * What a living claim has is not replaced. Crossplane deletes composed resources that are no longer wanted, so a Composition that makes
 * another kind of resource would delete a database when a living claim is switched to it. Rules of the claims refuse such a switch; this
 * is the second line.
 */
import { dataservicesGroup } from "@klutch/api";
import type { ComposeRequest, ComposeResponse, Json } from "@klutch/crossplane";
import { textAt } from "@klutch/kube-core";

/**
 * The response, or a refusal when a composed resource that exists would be replaced by one of another kind: one under the same name, or
 * one that holds a data service while ours does not exist. The claim is warned before the fatal result, which reaches the composite only.
 * Resources of other steps of the pipeline are left alone.
 */
export function keepLiving(observed: ComposeRequest["observed"], response: ComposeResponse): ComposeResponse {
  for (const [name, { resource: wanted }] of Object.entries(response.resources)) {
    const ours = kindOf(wanted);
    const existing = kindOf(observed[name]?.resource);
    if (existing === ours) continue;
    const replaced =
      existing === undefined
        ? Object.entries(observed).find(([, { resource }]) => holdsService(resource))
        : ([name, observed[name]] as const);
    if (replaced !== undefined) return refusal(replaced[0], kindOf(replaced[1]?.resource), ours);
  }
  return response;
}

/** Group and kind, such as `apps Deployment`; undefined for what is no object of Kubernetes. */
function kindOf(resource: Json | undefined): string | undefined {
  const [apiVersion, kind] = [textAt(resource, "apiVersion"), textAt(resource, "kind")];
  if (apiVersion === undefined || kind === undefined) return undefined;
  const [group, version] = apiVersion.split("/");
  return version === undefined ? kind : `${group} ${kind}`;
}

/** By provider-kubernetes, or by ours in either generation. */
function holdsService(resource: Json): boolean {
  const [group = "", kind = ""] = kindOf(resource)?.split(" ") ?? [];
  if (["kubernetes.crossplane.io", "kubernetes.m.crossplane.io"].includes(group)) return kind === "Object";
  return group === dataservicesGroup || group === dataservicesGroup.replace(".", ".m.");
}

function refusal(name: string, existing: string | undefined, wanted: string | undefined): ComposeResponse {
  const message =
    `the composed resource ${name} is a ${existing}, and this Composition makes a ${wanted} instead: what exists would be deleted ` +
    "with its data, so nothing is changed. Go back to the Composition that made it (spec.compositionRef.name), or make a new claim";
  return {
    resources: {},
    results: [
      { severity: "warning", reason: "ServiceProblem", message },
      { severity: "fatal", message },
    ],
  };
}
