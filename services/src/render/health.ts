/** Health checks of every kind for the tools that people apply claims with. */
import { generations } from "../generation.ts";
import { xrdsOf } from "../xrds.ts";
import { type FluxHealthCheck, fluxHealthCheck } from "./health-cel.ts";
import { healthLua } from "./health-lua.ts";
import { healthRulesOf } from "./health-rules.ts";

/** The part of Argo CD's ConfigMap that says how healthy claims are; for a server-side apply, which leaves the other keys alone. */
export interface ArgoHealthConfig {
  readonly apiVersion: "v1";
  readonly kind: "ConfigMap";
  readonly metadata: { readonly name: "argocd-cm"; readonly labels: Readonly<Record<string, string>> };
  readonly data: Readonly<Record<string, string>>;
}

/** The part of a Kustomization of Flux that says when claims are ready; a merge patch. */
export interface FluxHealthPatch {
  readonly spec: { readonly wait: true; readonly healthCheckExprs: readonly FluxHealthCheck[] };
}

const rules = generations.flatMap(xrdsOf).map(healthRulesOf);

/** All kinds of both generations, for Argo CD 2.1 or newer. */
export const argoHealth: ArgoHealthConfig = {
  apiVersion: "v1",
  kind: "ConfigMap",
  // Argo CD reads only a ConfigMap that has this label.
  metadata: { name: "argocd-cm", labels: { "app.kubernetes.io/part-of": "argocd" } },
  data: Object.fromEntries(
    rules.map((kind) => [`resource.customizations.health.${kind.group}_${kind.kind}`, healthLua(kind)]),
  ),
};

/** All kinds of both generations, for Flux 2.5 or newer. */
export const fluxHealth: FluxHealthPatch = {
  spec: { wait: true, healthCheckExprs: rules.map(fluxHealthCheck) },
};
