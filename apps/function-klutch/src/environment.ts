/**
 * Decides in which organisation and space of the broker an instance is made. The operator of the control plane sets them for each service
 * namespace, by an EnvironmentConfig with a label that names the namespace. No one else can: EnvironmentConfigs are cluster-scoped, and
 * the claim's own namespace counts, whatever its content says.
 *
 * | the instance                                    | its organisation and space                                    |
 * |-------------------------------------------------|---------------------------------------------------------------|
 * | exists                                          | its present ones; nothing is requested                        |
 * | is new; Crossplane was not asked yet            | not known: nothing is composed                                |
 * | is new; no EnvironmentConfig has the label      | those of the Composition's step, else the fixed ones           |
 * | is new; one has it, and both are texts          | its `data.organizationGuid` and `data.spaceGuid`              |
 * | is new; one has only rules of regions           | as without an EnvironmentConfig                               |
 * | is new; several have it, or one that says less  | refused, with the EnvironmentConfig, the field and the value  |
 */
import { readyWordsCondition, syncedWordsCondition } from "@klutch/api";
import type { ComposeCondition, ComposeRequest, ComposeResponse, Json } from "@klutch/crossplane";
import { plainText, textAt, valueAt } from "@klutch/kube-core";
import { specObserved } from "./composite.ts";
import { holdsService } from "./living.ts";
import type { ClaimIdentity } from "./managed-resource.ts";
import { hasRegionRule } from "./region-rules.ts";
import { refusal } from "./refusal.ts";

/** Organisation and space of an instance. */
export interface BrokerSpace {
  readonly organizationGuid: string;
  readonly spaceGuid: string;
}

/** The space, and what the answer has to require with it; or an answer that makes nothing. */
export type PlaceFound =
  | { readonly space: BrokerSpace; readonly required?: ComposeResponse["required"] }
  | { readonly answer: ComposeResponse };

/** Label on an EnvironmentConfig: the service namespace whose instances it configures. */
const serviceNamespaceLabel = "klutch.anynines.com/service-namespace";
/** Kind of the objects with such settings. */
export const environments = {
  apiVersion: "apiextensions.crossplane.io/v1beta1",
  kind: "EnvironmentConfig",
} as const;
/** Key by which Crossplane returns the EnvironmentConfigs. */
export const environmentRequirement = "environment";

/** Chooses organisation and space. `living`: the existing managed resource; `fallback`: for namespaces without an EnvironmentConfig. */
export function spaceOf(
  request: ComposeRequest,
  claim: ClaimIdentity,
  living: Json | undefined,
  fallback: BrokerSpace,
): PlaceFound {
  // What another Composition made is never replaced, so nothing new comes of this either.
  if (living !== undefined || Object.values(request.observed).some(({ resource }) => holdsService(resource)))
    return { space: { ...fallback, ...spaceOfLiving(living) } };
  const namespace = namespaceOf(request.composite, claim);
  const wanted = { ...environments, matchLabels: { [serviceNamespaceLabel]: namespace } };
  const required = { [environmentRequirement]: wanted };
  const found = request.required?.[environmentRequirement];
  if (found === undefined) return { answer: unanswered(request.composite, required) };
  const [environment] = found;
  if (environment === undefined) return { space: fallback, required };
  const problem = settingsProblem(found, serviceNamespaceLabel, namespace);
  const read = problem === undefined ? spaceIn(environment, fallback) : { problem };
  return "problem" in read ? { answer: refused(request.composite, read.problem) } : { space: read, required };
}

/** Returns the composite's namespace, else its claim's. Labels do not count: in a namespaced composite the author sets them. */
export function namespaceOf(composite: Json, claim: ClaimIdentity): string {
  return (
    textAt(composite, "metadata", "namespace") ??
    textAt(composite, "spec", "claimRef", "namespace") ??
    claim.namespace
  );
}

function spaceOfLiving(living: Json | undefined): Partial<BrokerSpace> {
  const stated = fields.map((field) => [field, textAt(living, "spec", "forProvider", field)] as const);
  return Object.fromEntries(stated.filter(([, text]) => text !== undefined && text !== ""));
}

const fields = ["organizationGuid", "spaceGuid"] as const;
/** Identifiers that brokers accept: visible characters, most often those of a UUID. */
const guid = /^[\x21-\x7e]{1,128}$/;

/** Both, or neither: a space is in one organisation only. */
function spaceIn(environment: Json, fallback: BrokerSpace): BrokerSpace | { readonly problem: string } {
  const isSilent = fields.every((field) => valueAt(environment, "data", field) === undefined);
  if (isSilent && hasRegionRule(environment)) return fallback;
  const [organizationGuid, spaceGuid] = fields.map((field) => valueAt(environment, "data", field));
  if (isGuid(organizationGuid) && isGuid(spaceGuid)) return { organizationGuid, spaceGuid };
  const [field, value] = isGuid(organizationGuid) ? [fields[1], spaceGuid] : [fields[0], organizationGuid];
  const said = value === undefined ? "is missing" : `is ${plainText(JSON.stringify(value), 100)}`;
  return {
    problem: `data.${field} of EnvironmentConfig ${nameOf(environment)} ${said}; it must be a text of 1 to 128 characters without spaces`,
  };
}

function isGuid(value: unknown): value is string {
  return typeof value === "string" && guid.test(value);
}

/** Returns why these cannot be the EnvironmentConfigs, at most one, whose label has the value. */
export function settingsProblem(found: readonly Json[], label: string, value: string): string | undefined {
  return mistakenIdentity(found, label, value) ?? severalFor(found, label, value);
}

/** Crossplane's answer is believed only as far as each object says itself what was asked for. */
function mistakenIdentity(found: readonly Json[], label: string, value: string): string | undefined {
  const other = found.find(
    (one) => one["kind"] !== environments.kind || textAt(one, "metadata", "labels", label) !== value,
  );
  return other === undefined
    ? undefined
    : `Crossplane gave ${plainText(String(textAt(other, "kind") ?? "something"), 100)} ${nameOf(other)} for an EnvironmentConfig ${labelled(label, value)}`;
}

function severalFor(found: readonly Json[], label: string, value: string): string | undefined {
  if (found.length < 2) return undefined;
  const names = found.slice(0, 3).map(nameOf);
  const all =
    found.length > names.length
      ? `${names.join(", ")} and ${found.length - names.length} more`
      : names.join(" and ");
  return `the EnvironmentConfigs ${all} are ${labelled(label, value)}; only one can be`;
}

function labelled(label: string, value: string): string {
  return `labelled ${label}: ${plainText(value, 100)}`;
}

function nameOf(object: Json): string {
  return plainText(textAt(object, "metadata", "name") ?? "without a name", 100);
}

/** Stops the pipeline, and says in the claim why nothing is made. */
function refused(composite: Json, problem: string): ComposeResponse {
  const message = `its organisation and space are unknown: ${problem}; ask the operators of the control plane`;
  return { ...refusal(message), conditions: notMade(composite, { reason: "NoOrganization", message }) };
}

/**
 * Only a Crossplane that hands nothing to functions shows this to anybody; others drop it. It has no result: Crossplane counts those of
 * answers that it drops, too.
 */
function unanswered(composite: Json, required: ComposeResponse["required"]): ComposeResponse {
  const message =
    "its organisation and space are unknown: this Crossplane does not hand EnvironmentConfigs to functions; " +
    "ask the operators of the control plane";
  return {
    resources: {},
    required,
    isReady: false,
    conditions: notMade(composite, { reason: "NoOrganization", message }),
  };
}

/** Conditions of a claim of which nothing is made. */
export function notMade(
  composite: Json,
  why: Pick<ComposeCondition, "reason" | "message">,
): readonly ComposeCondition[] {
  const bad = { ...why, status: "False" } as const;
  return [
    { type: readyWordsCondition, ...bad },
    { type: syncedWordsCondition, ...bad },
    ...specObserved(composite),
  ];
}
