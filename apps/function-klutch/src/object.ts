/** A claim of any kind → an Object of provider-kubernetes, which makes the object of an operator in the cluster. */
import { wasReadyAnnotation } from "@klutch/api";
import type { Compose, ComposeRequest, ComposeResponse, Json } from "@klutch/crossplane";
import { recordAt, textAt } from "@klutch/kube-core";
import { type ComposedObject, type ObjectInputRead, readObjectInput } from "@klutch/services";
import { answerWith, nameOfComposed, noClaim, severalComposed, usualOf } from "./composite.ts";
import { type ClaimIdentity, claimLabels, claimOf } from "./managed-resource.ts";
import { objectManifest } from "./object-manifest.ts";
import { objectStateOf, reportedValues } from "./object-state.ts";
import { refusal } from "./refusal.ts";
import { blameOf } from "./service-instance.ts";

/** Composes what its input describes for the type of the claim. */
export const composeObject: Compose = (request) => {
  const input = readObjectInput(request.input);
  if ("problem" in input) return { resources: {}, results: [{ severity: "fatal", message: input.problem }] };
  const type = input.type ?? textAt(request.composite, "spec", "serviceInstanceType") ?? "";
  const object = input.objects.get(type);
  if (object !== undefined) return composeOf(request, input, object);
  const possible = [...input.objects.keys()].join(", ");
  return refusal(
    `spec.serviceInstanceType is ${JSON.stringify(type)}; this Composition serves only: ${possible}`,
  );
};

function composeOf(request: ComposeRequest, input: ObjectInputRead, object: ComposedObject): ComposeResponse {
  const { composite } = request;
  const claim = claimOf(composite);
  if (claim === undefined) return noClaim;
  const made = objectManifest(object, composite, claim);
  if ("problem" in made) return refusal(made.problem);
  const wanted = objectResource(object, made.manifest, claim);
  const name = nameOfComposed(request.observed, wanted);
  if (name === undefined) return severalComposed;
  const observed = request.observed[name]?.resource;
  const state = objectStateOf(observed, wanted, object.recipe.status);
  const isInstance = input.type !== undefined;
  return answerWith(request, {
    name,
    resource: state.wasReady ? marked(wanted) : wanted,
    state,
    managed: reportedValues(observed, wanted, object.recipe.status),
    usual: usualOf(request, textAt(composite, "kind")?.replace(/^X/, "") ?? ""),
    isChangeable: isInstance,
    blame: isInstance ? blameOf(object.parameters, composite) : [],
  });
}

/** Builds the Object. It is ready when the operator's object is; with watches of provider-kubernetes, each change of that is noticed. */
function objectResource(
  { recipe, providerConfig }: ComposedObject,
  manifest: Json,
  claim: ClaimIdentity,
): Json {
  const { namespace, isComposite } = claim;
  return {
    apiVersion: isComposite ? "kubernetes.m.crossplane.io/v1alpha1" : "kubernetes.crossplane.io/v1alpha2",
    kind: "Object",
    metadata: { ...(isComposite ? { namespace } : {}), labels: claimLabels(claim) },
    spec: {
      forProvider: { manifest },
      readiness: { policy: "DeriveFromCelQuery", celQuery: recipe.ready },
      providerConfigRef: {
        ...(isComposite ? { kind: "ClusterProviderConfig" } : {}),
        name: providerConfig,
      },
      watch: true,
    },
  };
}

function marked(resource: Json): Json {
  const annotations = { [wasReadyAnnotation]: "true" };
  return { ...resource, metadata: { ...recordAt(resource, "metadata"), annotations } };
}
