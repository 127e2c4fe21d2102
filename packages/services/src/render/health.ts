/** Health checks of every kind for the tools that people apply claims with. */
import type { CompositeResourceDefinition } from "../xrd.ts";
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

/** Adds the check of one kind to those that a Kustomization of Flux has; a JSON patch (RFC 6902). */
export type FluxHealthAddition = readonly [
  { readonly op: "add"; readonly path: "/spec/healthCheckExprs/-"; readonly value: FluxHealthCheck },
];

/** Returns the checks of all kinds of both generations, for Argo CD 2.1 or newer. */
export function argoHealth(): ArgoHealthConfig {
  return argoHealthOf(generations.flatMap(xrdsOf));
}

/** Returns the checks of all kinds of both generations, for Flux 2.5 or newer. */
export function fluxHealth(): FluxHealthPatch {
  const healthCheckExprs = generations.flatMap(xrdsOf).map(healthRulesOf).map(fluxHealthCheck);
  return { spec: { wait: true, healthCheckExprs } };
}

/** Returns the checks for claims of these definitions. */
export function argoHealthOf(definitions: readonly CompositeResourceDefinition[]): ArgoHealthConfig {
  const scripts = definitions
    .map(healthRulesOf)
    .map((kind) => [`resource.customizations.health.${kind.group}_${kind.kind}`, healthLua(kind)] as const);
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    // Argo CD reads only a ConfigMap that has this label.
    metadata: { name: "argocd-cm", labels: { "app.kubernetes.io/part-of": "argocd" } },
    data: Object.fromEntries(scripts),
  };
}

/** Returns the checks for claims of this definition, in addition to those of `fluxHealth`. */
export function fluxHealthOf(definition: CompositeResourceDefinition): FluxHealthAddition {
  const value = fluxHealthCheck(healthRulesOf(definition));
  return [{ op: "add", path: "/spec/healthCheckExprs/-", value }];
}
