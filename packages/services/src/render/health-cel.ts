/** The health of a claim for Flux, as expressions that get the top-level fields of the claim. */
import type { HealthRules } from "./health-rules.ts";

/** One of `spec.healthCheckExprs` of a Kustomization. Flux evaluates `inProgress`, `failed`, `current`; without a match the object is in progress. */
export interface FluxHealthCheck {
  readonly apiVersion: string;
  readonly kind: string;
  readonly inProgress: string;
  readonly failed: string;
  readonly current: string;
}

/**
 * Flux itself takes an unequal `status.observedGeneration` for in progress. An expression never fails on a claim that has a status, whatever
 * is in the conditions. CEL cannot ask whether there is a status at all: without one Flux waits, and shows the claim as Unknown.
 */
export function fluxHealthCheck({ group, version, kind, ...rules }: HealthRules): FluxHealthCheck {
  const failed = [
    is("Stalled", "True"),
    `${is("Ready", "False")} && ${hasReason(rules.failed)}`,
    `${is("Synced", "False")} && ${hasReason(rules.outOfSync)}`,
  ];
  const over = rules.over.length === 0 ? [] : [`${is("Ready", "False")} && ${hasReason(rules.over)}`];
  return {
    apiVersion: `${group}/${version}`,
    kind,
    inProgress: `has(metadata.deletionTimestamp) ||\n${anyOf(is("Reconciling", "True"))}`,
    failed: anyOf(...failed),
    current: anyOf(is("Ready", "True"), ...over),
  };
}

const is = (type: string, status: string): string =>
  `c.?type.orValue("") == "${type}" && c.?status.orValue("") == "${status}"`;

const hasReason = (reasons: readonly string[]): string =>
  `c.?reason.orValue("") in [${reasons.map((reason) => `"${reason}"`).join(", ")}]`;

/** A condition that is not about a generation before the claim's fits one of these. */
function anyOf(...tests: readonly string[]): string {
  return `has(status.conditions) && type(status.conditions) == list &&
status.conditions.exists(c, type(c) == map && !(${isOld}) && (
  ${tests.join(" ||\n  ")}))`;
}

const isOld = 'type(c.?observedGeneration.orValue("")) == int && c.observedGeneration < metadata.generation';
