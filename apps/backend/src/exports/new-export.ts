/** The export that answers a request, given the CRD and the template of its API. */
import {
  type APIServiceExport,
  type APIServiceExportTemplate,
  type ClusterScopedIsolation,
  consumerScopeAnnotation,
  ExportError,
  type InformerScope,
  observedGenerationAnnotation,
  rejectedClaimsAnnotation,
  readyConditionAnnotation,
  readyConditionOf,
  secretNameFieldAnnotation,
  secretNameFieldOf,
  sourceSpecHashAnnotation,
} from "@klutch/api";
import type { KubeObject } from "@klutch/kube-core";
import { scopeProblem } from "../offered-api.ts";
import { generationsOf, snapshotOf } from "./export-plan.ts";

/** Input of a new export. */
export interface NewExportInput {
  readonly namespace: string;
  /** Name of the CRD and the export. */
  readonly name: string;
  readonly crd: KubeObject;
  readonly template: APIServiceExportTemplate;
  /** Types of services that are offered. */
  readonly types: readonly string[];
  /** Permission claims that the app cluster's side rejected, as `rejectedClaims` gives them. */
  readonly rejected: string | undefined;
  readonly consumerScope: InformerScope;
  readonly clusterScopedIsolation: ClusterScopedIsolation;
}

/** The export, or in words why there can be none. */
export function newExport(input: NewExportInput): APIServiceExport | { readonly problem: string } {
  const { crd, template, types, name, consumerScope, clusterScopedIsolation } = input;
  try {
    const { spec, hash } = snapshotOf(crd, template, types);
    const isLifted =
      spec.scope === "Namespaced" && template.metadata.annotations?.[consumerScopeAnnotation] === "Cluster";
    const problem = scopeProblem(name, spec.scope, template, input);
    if (problem !== undefined) return { problem };
    return {
      apiVersion: "klutch.anynines.com/v1alpha1",
      kind: "APIServiceExport",
      metadata: metadataOf(input, hash),
      spec: {
        ...spec,
        informerScope: consumerScope,
        permissionClaims: template.spec.permissionClaims ?? [],
        ...(spec.scope === "Cluster" ? { clusterScopedIsolation } : {}),
        ...(isLifted ? { scope: "Cluster", clusterScopedIsolation: "Namespaced" } : {}),
      },
    };
  } catch (error) {
    if (error instanceof ExportError) return { problem: error.message };
    throw error;
  }
}

function metadataOf(
  { namespace, name, template, rejected }: NewExportInput,
  hash: string,
): APIServiceExport["metadata"] {
  const generations = generationsOf(template);
  const secretNameField = secretNameFieldOf(template);
  const readyCondition = readyConditionOf(template);
  return {
    namespace,
    name,
    annotations: {
      [sourceSpecHashAnnotation]: hash,
      ...(rejected === undefined ? {} : { [rejectedClaimsAnnotation]: rejected }),
      ...(generations === undefined ? {} : { [observedGenerationAnnotation]: generations }),
      ...(secretNameField === undefined ? {} : { [secretNameFieldAnnotation]: secretNameField }),
      ...(readyCondition === undefined ? {} : { [readyConditionAnnotation]: readyCondition }),
    },
  };
}
