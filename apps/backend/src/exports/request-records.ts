/** Records what an app cluster got by a request: APIs, and the permission claims that its side accepted. */
import {
  type APIServiceExportRequest,
  crdNameOf,
  type Grant,
  grants,
  type RequestedResource,
} from "@klutch/api";
import { findCondition, jsonEqual, keyOf, type NewCondition } from "@klutch/kube-core";
import { isNotFound } from "@klutch/kube";
import { grantsFor } from "../authorization/grants.ts";
import { byNamespace, type ControllerContext, isOperators } from "../controller-context.ts";

/** Reasons that refuse access. Others say that something is missing, and are no decision about it. */
const refusals: readonly string[] = ["NotAllowed", "Revoked", "TooManyRequests"];

/** Answers that this process recorded, by the keys of requests that exist: the cache may show a status later than the next reconcile comes. */
export type RecordedAnswers = Map<string, string>;

/**
 * Records the answer once, before the request's status shows it: a backend that ends in between records it again, and none is lost.
 * `answer` is the condition that the status gets.
 */
export function recordAnswer(
  { audit, caches, exportTemplates }: ControllerContext,
  recorded: RecordedAnswers,
  request: APIServiceExportRequest,
  answer: NewCondition,
): void {
  const { metadata, spec, status } = request;
  const text = JSON.stringify([metadata.uid, answer.status, answer.reason]);
  if (recorded.get(keyOf(request)) === text) return;
  recorded.set(keyOf(request), text);
  const before = findCondition(status?.conditions, answer.type);
  if (before?.status === answer.status && before.reason === (answer.reason ?? "")) return;
  const tenant = metadata.namespace ?? "";
  const subject = {
    tenant,
    apis: spec.resources,
    way: isOperators(caches.namespaces.get(tenant)) ? "operator" : "controller",
  } as const;
  if (answer.status === "True") {
    audit.record({ ...subject, decision: "export", allowed: true, outcome: "Exported" });
    const accepted = spec.resources.flatMap(
      (resource) => acceptedClaims({ exportTemplates }, resource) ?? [],
    );
    if (spec.resources.some(({ permissionClaims }) => permissionClaims !== undefined)) {
      const permissionClaims = [...new Set(accepted)];
      audit.record({
        ...subject,
        decision: "acceptClaims",
        allowed: true,
        outcome: accepted.length === 0 ? "NoneAccepted" : "Accepted",
        permissionClaims,
      });
    }
    return;
  }
  const { reason = "", message } = answer;
  if (refusals.includes(reason))
    audit.record({ ...subject, decision: "export", allowed: false, outcome: reason, detail: message });
}

/** Notes the accepted claims on the Grant of the person who bound the API last: their plugin answers. */
export async function rememberClaims(
  { client, caches, exportTemplates }: ControllerContext,
  { metadata, spec }: APIServiceExportRequest,
  options: { readonly signal: AbortSignal },
): Promise<void> {
  const { namespace = "" } = metadata;
  for (const resource of spec.resources) {
    const permissionClaims = acceptedClaims({ exportTemplates }, resource);
    const [last] = grantsFor(caches.grants.byIndex(byNamespace, namespace), resource).toSorted(lastFirst);
    if (permissionClaims === undefined || last === undefined) continue;
    if (jsonEqual(last.spec.permissionClaims, permissionClaims)) continue;
    const ref = { namespace, name: last.metadata.name ?? "" };
    try {
      await client.mergePatch(grants, ref, { spec: { permissionClaims } }, options);
    } catch (error) {
      // Deleted meanwhile.
      if (!isNotFound(error)) throw error;
    }
  }
}

function lastFirst({ spec: one }: Grant, { spec: other }: Grant): number {
  return one.boundAt < other.boundAt ? 1 : -1;
}

/** Returns the resources of the permission claims that the request accepts and the template has; undefined if it says nothing of claims. */
export function acceptedClaims(
  { exportTemplates }: Pick<ControllerContext, "exportTemplates">,
  { group = "", resource, permissionClaims }: RequestedResource,
): readonly string[] | undefined {
  if (permissionClaims === undefined) return undefined;
  const claims = exportTemplates.template(group, resource)?.spec.permissionClaims ?? [];
  const offered = new Set(claims.map(claimName));
  return [...new Set(permissionClaims.map(claimName))].filter((name) => offered.has(name)).toSorted();
}

function claimName({
  group = "",
  resource,
}: {
  readonly group?: string | undefined;
  readonly resource: string;
}): string {
  return crdNameOf({ group, resource });
}
