/**
 * Protects the resources of a living claim from replacement. Crossplane deletes composed resources that are no longer wanted, so a Composition
 * that makes another kind of resource would delete a database when a living claim switches to it. Rules of the claims refuse such a switch;
 * this is the second line.
 */
import { dataservicesGroup, namespacedDataservicesGroup } from "@klutch/api";
import type { ComposeRequest, ComposeResponse, Json } from "@klutch/crossplane";
import { textAt, valueAt } from "@klutch/kube-core";
import { manifestIdentity } from "./manifest-identity.ts";
import { refusal } from "./refusal.ts";

/**
 * The response, or a refusal when a composed resource that exists would be replaced by one of another kind: one under the same name, or
 * one that holds a data service while ours does not exist. The claim is warned before the fatal result, which reaches the composite only.
 * Resources of other steps of the pipeline are left alone.
 */
export function keepLiving(observed: ComposeRequest["observed"], response: ComposeResponse): ComposeResponse {
  for (const [name, { resource: wanted }] of Object.entries(response.resources)) {
    const ours = identityOf(wanted);
    const existing = identityOf(observed[name]?.resource);
    if (existing === ours) continue;
    const replaced =
      existing === undefined
        ? Object.entries(observed).find(([, { resource }]) => holdsService(resource))
        : ([name, observed[name]] as const);
    if (replaced !== undefined) return replacement(replaced[0], identityOf(replaced[1]?.resource), ours);
  }
  return response;
}

/** Returns true if both have the same kind and, for Objects of provider-kubernetes, make the same object. */
export function isSame(one: Json, other: Json): boolean {
  return identityOf(one) !== undefined && identityOf(one) === identityOf(other);
}

/** The kind; of an Object besides what it makes, which is what would be deleted. */
function identityOf(resource: Json | undefined): string | undefined {
  const kind = kindOf(resource);
  if (kind === undefined || !objectKinds.includes(kind)) return kind;
  const made = manifestIdentity(valueAt(resource, "spec", "forProvider", "manifest"));
  return made === undefined ? kind : `${kind} of ${made}`;
}

const objectKinds: readonly string[] = [
  "kubernetes.crossplane.io Object",
  "kubernetes.m.crossplane.io Object",
];

/** Returns group and kind, such as `apps Deployment`; undefined if it is not a Kubernetes object. */
function kindOf(resource: Json | undefined): string | undefined {
  const [apiVersion, kind] = [textAt(resource, "apiVersion"), textAt(resource, "kind")];
  if (apiVersion === undefined || kind === undefined) return undefined;
  const [group, version] = apiVersion.split("/");
  return version === undefined ? kind : `${group} ${kind}`;
}

/** Returns true for resources of provider-kubernetes, and of ours in either generation. */
export function holdsService(resource: Json): boolean {
  const kind = kindOf(resource) ?? "";
  if (objectKinds.includes(kind)) return true;
  const [group = ""] = kind.split(" ");
  return group === dataservicesGroup || group === namespacedDataservicesGroup;
}

function replacement(
  name: string,
  existing: string | undefined,
  wanted: string | undefined,
): ComposeResponse {
  return refusal(
    `the composed resource ${name} is a ${existing}, and this Composition makes a ${wanted} instead: the existing one would be deleted ` +
      "with its data, so nothing is changed. Go back to its Composition (spec.compositionRef.name), or create a new claim",
  );
}
