/** Turns export requests into exports. A piece that is missing is Pending, never an error that gives up at once. */
import {
  type APIServiceExport,
  type APIServiceExportRequest,
  apiServiceExportRequests,
  apiServiceExports,
  crdNameOf,
  rejectedClaims,
  type RequestedResource,
} from "@klutch/api";
import { falseCondition, keyOfRef, type NewCondition, setConditions, trueCondition } from "@klutch/kube-core";
import { isAlreadyExists } from "@klutch/kube";
import type { Reconcile } from "@klutch/kube-runtime";
import { ensureStatus } from "../apply.ts";
import { grantsFor } from "../authorization/grants.ts";
import { isRevokedExport } from "../authorization/revoked-exports.ts";
import { isOverLimit } from "../limits.ts";
import { templateRefOf } from "../offered-api.ts";
import { ensureAnswers } from "./answers.ts";
import { newExport } from "./new-export.ts";
import { recordAnswer, type RecordedAnswers, rememberClaims } from "./request-records.ts";
import { byNamespace, type ControllerContext } from "../controller-context.ts";

/** Maximum time that a request waits for a CRD or template. */
const failAfterMs = 60_000;
/** Time for which a finished request stays readable. */
const removeAfterMs = 600_000;
const requeueMs = 5_000;

/** Keys are `namespace/name` of requests. */
export function createExportRequestReconcile(context: ControllerContext): Reconcile {
  const { caches, client, clock } = context;
  const recorded: RecordedAnswers = new Map();
  return async (key, { signal }) => {
    const request = caches.requests.get(key);
    if (request === undefined || request.metadata.deletionTimestamp !== undefined) {
      recorded.delete(key);
      return undefined;
    }
    const ageMs = clock.now() - Date.parse(request.metadata.creationTimestamp ?? "");
    const { namespace = "", name = "" } = request.metadata;
    if ((request.status?.phase ?? "Pending") !== "Pending") {
      if (ageMs < removeAfterMs) return { requeueAfterMs: removeAfterMs - ageMs };
      await client.delete(apiServiceExportRequests, { namespace, name }, { signal });
      return undefined;
    }
    const refusal = refusalOf(context, request);
    const problem = refusal ?? (await exportAll(context, request, namespace, signal));
    const condition = problem ?? trueCondition("ExportsReady");
    const failed = problem !== undefined && (refusal !== undefined || ageMs > failAfterMs);
    const phase = problem === undefined ? "Succeeded" : failed ? "Failed" : "Pending";
    const conditions = setConditions(request.status?.conditions, [condition], clock.now());
    recordAnswer(context, recorded, request, condition);
    if (phase === "Succeeded") await rememberClaims(context, request, { signal });
    const terminalMessage = failed ? problem.message : undefined;
    await ensureStatus(
      client,
      apiServiceExportRequests,
      request,
      { phase, terminalMessage, conditions },
      { signal },
    );
    return { requeueAfterMs: phase === "Pending" ? requeueMs : removeAfterMs };
  };
}

/** Returns why the request is not served; undefined for requests within the limit. */
function refusalOf(
  { caches, limits }: ControllerContext,
  request: APIServiceExportRequest,
): NewCondition | undefined {
  const all = caches.requests.byIndex(byNamespace, request.metadata.namespace ?? "");
  const most = limits.requestsPerCluster;
  const isIn = ({ status }: APIServiceExportRequest): boolean => (status?.phase ?? "Pending") !== "Pending";
  if (!isOverLimit(request, all, isIn, most) && request.spec.resources.length <= most) return undefined;
  const message =
    `This app cluster has ${all.length} APIServiceExportRequests, and this one has ${request.spec.resources.length} in ` +
    `spec.resources. ${most} are allowed at a time. Try again in ten minutes, or ask the platform operator to raise --max-requests-per-cluster`;
  return falseCondition("ExportsReady", "TooManyRequests", "Error", message);
}

async function exportAll(
  context: ControllerContext,
  request: APIServiceExportRequest,
  namespace: string,
  signal: AbortSignal,
): Promise<NewCondition | undefined> {
  for (const resource of request.spec.resources) {
    const problem = await exportOne(context, resource, namespace, signal);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

async function exportOne(
  context: ControllerContext,
  resource: RequestedResource,
  namespace: string,
  signal: AbortSignal,
): Promise<NewCondition | undefined> {
  const { caches, exportTemplates, client, consumerScope, clusterScopedIsolation } = context;
  const name = crdNameOf(resource);
  const crd = caches.crds.get(name);
  if (crd === undefined)
    return notReady("CRDNotFound", `CustomResourceDefinition ${name} does not exist in the provider cluster`);
  const template = exportTemplates.template(resource.group ?? "", resource.resource);
  const claims = template?.spec.permissionClaims ?? [];
  // Existing plugins and backends leave the claims out of a request, or repeat them all: both take everything.
  const rejected = rejectedClaims(claims, resource.permissionClaims ?? claims);
  // Of what the cache does not show yet, the last answers would stay.
  const answer = async (): Promise<undefined> => {
    const live = await client.get<APIServiceExport>(apiServiceExports, { namespace, name }, { signal });
    await ensureAnswers(client, live, rejected, { signal });
  };
  const present = caches.exports.get(`${namespace}/${name}`);
  if (present !== undefined) {
    if (
      isRevokedExport(present) &&
      grantsFor(caches.grants.byIndex(byNamespace, namespace), resource).length === 0
    )
      return notReady(
        "Revoked",
        `the platform operator revoked the access of this app cluster to ${name}: log in with kubectl bind as a person who may bind it`,
      );
    return template === undefined ? undefined : answer();
  }
  if (template === undefined)
    return notReady("CRDNotFound", `${name} is not offered: no APIServiceExportTemplate selects it`);
  if (context.isGranted !== undefined) {
    const { group = "" } = resource;
    const ref = templateRefOf(template);
    const asked = { group, resource: resource.resource, template: ref };
    if (!(await context.isGranted(namespace, asked, signal)))
      return notReady(
        "NotAllowed",
        `no one with the right to bind ${name} has bound it for this app cluster: log in with kubectl bind as a person who has the verb bind on APIServiceExportTemplate ${keyOfRef(ref)}`,
      );
  }
  const types = exportTemplates.serviceTypes(resource.group ?? "", template);
  const scopes = { consumerScope, clusterScopedIsolation };
  const made = newExport({ namespace, name, crd, template, types, rejected, ...scopes });
  if ("problem" in made) return notReady("CRDInvalid", made.problem);
  try {
    await client.create(apiServiceExports, made, { signal });
    return undefined;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return answer();
  }
}

function notReady(reason: string, message: string): NewCondition {
  return falseCondition("ExportsReady", reason, "Error", message);
}
