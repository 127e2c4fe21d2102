/** A claim of any kind → a managed resource of a Crossplane provider that is not ours, which makes what the claim orders. */
import type { Compose, ComposeRequest, ComposeResponse, Json } from "@klutch/crossplane";
import { recordAt, textAt } from "@klutch/kube-core";
import { type ManagedInputRead, readManagedInput } from "@klutch/services";
import { answerWith, nameOfComposed, noClaim, severalComposed, usualOf } from "./composite.ts";
import { foreignStateOf } from "./foreign-state.ts";
import { type ClaimIdentity, claimLabels, claimOf } from "./managed-resource.ts";
import { reportedConditions } from "./managed-state.ts";
import { objectManifest } from "./object-manifest.ts";
import { valuesIn } from "./object-state.ts";
import { refusal, serviceProblem } from "./refusal.ts";

/**
 * Composes what its input describes. It is ready when its provider says so of the present spec. Its connection details become those of the
 * composite, of which the definition's `connectionSecretKeys` let some through.
 */
export const composeForeign: Compose = (request) => {
  const input = readManagedInput(request.input);
  if ("problem" in input) return { resources: {}, results: [{ severity: "fatal", message: input.problem }] };
  const claim = claimOf(request.composite);
  if (claim === undefined) return noClaim;
  const made = foreignResource(input, request.composite, claim);
  return "problem" in made ? refusal(made.problem) : composeOf(request, input, made.resource);
};

function composeOf(request: ComposeRequest, input: ManagedInputRead, wanted: Json): ComposeResponse {
  const name = nameOfComposed(request.observed, wanted);
  if (name === undefined) return severalComposed;
  const { resource, connection } = request.observed[name] ?? {};
  const createdAt = textAt(resource, "metadata", "creationTimestamp");
  const answer = answerWith(request, {
    name,
    resource: wanted,
    state: foreignStateOf(resource, wanted),
    managed: {
      ...(createdAt === undefined ? {} : { createdAt }),
      ...valuesIn(resource, input.status),
      conditions: reportedConditions(resource),
    },
    usual: usualOf(request, textAt(wanted, "kind") ?? ""),
    isChangeable: true,
    blame: [],
  });
  if (connection === undefined || Object.keys(connection).length === 0) return answer;
  // Crossplane names the composite's Secret before it asks us.
  const isKept = textAt(request.composite, "spec", "writeConnectionSecretToRef", "name") !== undefined;
  const results = [
    ...(answer.results ?? []),
    ...(isKept || input.connectionSecretNamespace === undefined ? [] : [noSecret]),
  ];
  return { ...answer, connection, results };
}

const noSecret = serviceProblem(
  "there are connection details, but no Secret for the claim: its Composition has no spec.writeConnectionSecretsToNamespace. Ask the operators of the control plane",
);

type Made = { readonly resource: Json } | { readonly problem: string };

/** Builds the managed resource; Crossplane names it. */
function foreignResource(input: ManagedInputRead, composite: Json, claim: ClaimIdentity): Made {
  const { connectionSecretNamespace: namespace, namespaced = claim.isComposite } = input;
  const made = objectManifest({ recipe: input, parameters: [] }, composite, claim);
  if ("problem" in made) return made;
  if (namespace !== undefined && claim.isComposite)
    return {
      problem:
        "input.connectionSecretNamespace is for claims; a namespaced composite has no connection details in Crossplane 2",
    };
  const { labels, annotations } = recordAt(made.manifest, "metadata");
  const metadata = {
    ...(namespaced ? { namespace: claim.namespace } : {}),
    labels: { ...recordAt({ labels }, "labels"), ...claimLabels(claim) },
    ...(annotations === undefined ? {} : { annotations }),
  };
  const uid = textAt(composite, "metadata", "uid");
  if (namespace !== undefined && uid === undefined)
    return { problem: "the composite has no metadata.uid, after which its connection Secret is named" };
  const secret =
    namespace === undefined ? {} : { writeConnectionSecretToRef: { namespace, name: `${uid}-managed` } };
  return {
    resource: { ...made.manifest, metadata, spec: { ...recordAt(made.manifest, "spec"), ...secret } },
  };
}
