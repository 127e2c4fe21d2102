/** Reads all rights of a token in one namespace: one SelfSubjectRulesReview instead of a question for each kind. */
import type { Transport } from "@klutch/kube";
import { jsonOf, listAt, recordsAt, valueAt } from "@klutch/kube-core";

/** One rule of a SelfSubjectRulesReview that holds for all objects of its resources. */
export interface NamespaceRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
}

/** Empty when the list would not be whole; undefined without a usable answer. */
export type NamespaceRules = readonly NamespaceRule[] | undefined;

const path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
const longestAnswer = 1024 * 1024;

/**
 * Asks with the tenant's own token; never throws. An API server with an authorizer that cannot list its rules, such as a webhook, says `incomplete`:
 * then that authorizer may deny what a rule allows, and no rule counts.
 */
export async function askForRules(
  transport: Pick<Transport, "exchange">,
  authorization: string,
  namespace: string,
): Promise<NamespaceRules> {
  const body = JSON.stringify({
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectRulesReview",
    spec: { namespace },
  });
  try {
    const headers = { authorization };
    const { status, text } = await transport.exchange({ method: "POST", path, body, headers }, longestAnswer);
    if (status !== 201 && status !== 200) return undefined;
    const found = valueAt(jsonOf(text), "status");
    if (valueAt(found, "incomplete") !== false) return [];
    return recordsAt(found, "resourceRules")
      .filter((rule) => isEmpty(rule["resourceNames"]))
      .map((rule) => ({
        verbs: textsOf(rule, "verbs"),
        apiGroups: textsOf(rule, "apiGroups"),
        resources: textsOf(rule, "resources"),
      }));
  } catch {
    return undefined;
  }
}

/** Tells whether a rule allows a verb on all objects of a resource, as RBAC matches it. */
export function covers(
  rule: NamespaceRule,
  { verb, group, plural }: { readonly verb: string; readonly group: string; readonly plural: string },
): boolean {
  const has = (values: readonly string[], value: string): boolean =>
    values.includes("*") || values.includes(value);
  return has(rule.verbs, verb) && has(rule.apiGroups, group) && has(rule.resources, plural);
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

function textsOf(rule: unknown, field: string): readonly string[] {
  return listAt(rule, field).filter((value) => typeof value === "string");
}
