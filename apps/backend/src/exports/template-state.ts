/**
 * Judges a template: whether it names an API that can be shared, and whether this backend offers it. No I/O.
 *
 * | condition | says                                                                                   |
 * |-----------|----------------------------------------------------------------------------------------|
 * | `Valid`   | the template against the control plane: its kind, its version, its permission claims    |
 * | `Offered` | this template counts, and flags and names allow app clusters to bind the API            |
 *
 * A Warning in `Valid` names a mistake that leaves the API offered. Messages quote what operators wrote: each is one bounded line.
 */
import { type APIServiceExportTemplate, crdNameOf, judgeClaim, type PermissionClaim } from "@klutch/api";
import {
  falseCondition,
  keyOf,
  type KubeObject,
  type NewCondition,
  plainText,
  recordsAt,
  textAt,
  trueCondition,
} from "@klutch/kube-core";
import { type IsOffered, notOffered } from "../offers.ts";
import { type OfferFault, offerFault, type OfferScopes } from "../offered-api.ts";

/** Input of `templateState`. */
export interface TemplateStateInput extends OfferScopes {
  readonly template: APIServiceExportTemplate;
  /** The template that counts for the API; the same one if there is no other. */
  readonly counting: APIServiceExportTemplate | undefined;
  /** The kind that the template names. */
  readonly crd: KubeObject | undefined;
  /** Tells which kinds the backend may hand out rights on; undefined where no list says it. */
  readonly isOffered?: IsOffered | undefined;
  /** All CustomResourceDefinitions, `<plural>.<group>`. */
  readonly crdNames: Iterable<string>;
}

/** The part of a template's status that follows from it and from the control plane. */
export interface TemplateState {
  /** Kind of the API; undefined while there is none. */
  readonly kind: string | undefined;
  readonly conditions: readonly NewCondition[];
}

const valid = "Valid";
const offered = "Offered";
/** Reason of `Offered` while an operator has to put the kind on the list. */
export const noRightToOffer = "NoRightToOffer";
/** Names in a message that helps with a misspelt one. */
const mostNames = 10;

export function templateState(input: TemplateStateInput): TemplateState {
  const { template, crd } = input;
  const fault = offerFault(template, crd, input);
  return {
    kind: textAt(crd, "spec", "names", "kind"),
    conditions: [validity(input, fault), offering(input, fault)],
  };
}

function validity(input: TemplateStateInput, fault: OfferFault | undefined): NewCondition {
  if (fault === undefined || fault.reason === "ScopeNotAllowed")
    return warningOf(input) ?? trueCondition(valid);
  const message = `${fault.message}${helpOf(input, fault.reason)}`;
  return falseCondition(valid, fault.reason, "Error", plainText(message));
}

function offering(input: TemplateStateInput, fault: OfferFault | undefined): NewCondition {
  if (fault === undefined) return otherTemplate(input) ?? unlisted(input) ?? trueCondition(offered);
  if (fault.reason === "ScopeNotAllowed")
    return falseCondition(offered, fault.reason, "Error", plainText(fault.message));
  const message = "The condition Valid says why the API cannot be offered";
  return falseCondition(offered, "NotValid", "Info", message);
}

/** A kind or a claimed one that no operator put on the list of offers. */
function unlisted({ template: { spec }, isOffered }: TemplateStateInput): NewCondition | undefined {
  if (isOffered === undefined) return undefined;
  const missing = [spec.APIServiceSelector, ...(spec.permissionClaims ?? [])]
    .filter(({ group = "", resource }) => !isOffered(group, resource))
    .map(({ group = "", resource }) => crdNameOf({ group, resource }));
  if (missing.length === 0) return undefined;
  const message = plainText(notOffered([...new Set(missing)].slice(0, mostNames)));
  return falseCondition(offered, noRightToOffer, "Error", message);
}

/** Returns what to do about a misspelt name: the resources of the same group that exist. */
function helpOf({ template, crdNames }: TemplateStateInput, reason: OfferFault["reason"]): string {
  if (reason !== "CRDNotFound") return "";
  const { group = "" } = template.spec.APIServiceSelector;
  const found = [...crdNames]
    .filter((name) => name.endsWith(`.${group}`) && !name.slice(0, -group.length - 1).includes("."))
    .map((name) => name.slice(0, -group.length - 1))
    .toSorted();
  const known = found.length === 0 ? "has no resources" : `has: ${found.slice(0, mostNames).join(", ")}`;
  return `. Install it, or correct spec.APIServiceSelector. Group ${group} ${known}`;
}

function warningOf({ template, crd, crdNames }: TemplateStateInput): NewCondition | undefined {
  const { APIServiceSelector: selector, permissionClaims = [] } = template.spec;
  const served = recordsAt(crd, "spec", "versions").flatMap((version) =>
    version["served"] === true ? (textAt(version, "name") ?? []) : [],
  );
  const { version, group = "" } = selector;
  if (version !== undefined && !served.includes(version)) {
    const message =
      `spec.APIServiceSelector.version ${JSON.stringify(plainText(version, 63))} is not served. The field has no effect: all served ` +
      `versions are offered, ${served.join(", ")}`;
    return falseCondition(valid, "VersionNotServed", "Warning", plainText(message));
  }
  const names = new Set(crdNames);
  const problems = permissionClaims.flatMap((claim, index) => {
    const problem = claimProblem(claim, group, names);
    const name = (claim.group ?? "") === "" ? claim.resource : crdNameOf(claim);
    return problem === undefined ? [] : [`spec.permissionClaims[${index}] (${name}): ${problem}`];
  });
  return problems.length === 0
    ? undefined
    : falseCondition(valid, "ClaimRefused", "Warning", plainText(problems.join(". ")));
}

/** Returns why a permission claim of the API can never be served. */
function claimProblem(
  claim: PermissionClaim,
  group: string,
  crdNames: ReadonlySet<string>,
): string | undefined {
  const verdict = judgeClaim(claim, { group });
  if (verdict.kind === "refused") return `kubectl bind refuses it, because ${verdict.reason}`;
  const isMissing = (claim.group ?? "") !== "" && !crdNames.has(crdNameOf(claim));
  return isMissing
    ? `CustomResourceDefinition ${crdNameOf(claim)} does not exist in this cluster`
    : undefined;
}

function otherTemplate({ template, counting }: TemplateStateInput): NewCondition | undefined {
  if (counting === undefined || keyOf(counting) === keyOf(template)) return undefined;
  const message = `APIServiceExportTemplate ${keyOf(counting)} names the same API, and counts, because it is the first by namespace and name. Delete one of the two`;
  return falseCondition(offered, "OtherTemplate", "Warning", message);
}
