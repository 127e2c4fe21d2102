/** Asking the provider for APIs. */
import {
  type APIServiceExportRequest,
  apiServiceExportRequests,
  apiServiceExports,
  crdNameOf,
  decodeOfferedApi,
  type ExportRequestResponse,
  type OfferedApi,
  type PermissionClaim,
  printable,
  type RequestedResource,
  WireError,
} from "@klutch/api";
import { ApiError, isAlreadyExists, isForbidden, isUnauthorized, quotaRefusalOf } from "@klutch/kube";
import type { DynamicObject, ObjectRef } from "@klutch/kube-core";
import type { Provider } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { CliError, nothingChanged } from "../errors.ts";
import { waitFor } from "../wait.ts";

/** Result of a request to the provider. */
export interface Requested {
  /** The request at the provider. */
  readonly ref: ObjectRef;
  readonly exports: readonly OfferedApi[];
}

/** The accepted claims of each API, by its name `<resource>.<group>`; an API that is not there has none. */
export type AcceptedClaims = ReadonlyMap<string, readonly PermissionClaim[]>;

/** The request with just the accepted claims; without a list an API's claims would all count as accepted. */
export function withAnswers(request: ExportRequestResponse, accepted: AcceptedClaims): ExportRequestResponse {
  const resources = request.spec.resources.map((resource) => ({
    ...resource,
    permissionClaims: accepted.get(crdNameOf(resource)) ?? [],
  }));
  return { ...request, spec: { ...request.spec, resources } };
}

/**
 * Creates the request and waits until the provider has made the exports. On refusal, on an export of something else, or when time
 * runs out, the request is taken back, so that nothing half-made stays.
 */
export async function requestExports(
  context: CliContext,
  provider: Provider,
  request: ExportRequestResponse,
  timeoutMs: number,
): Promise<Requested> {
  const { signal } = context;
  const created = await createOnceCounted(context, provider, request, timeoutMs).catch((error: unknown) => {
    throw explained(provider, error);
  });
  const ref = { namespace: provider.namespace, name: created.metadata.name ?? "" };
  try {
    await waitForSuccess(context, provider, ref, timeoutMs);
    const exports: OfferedApi[] = [];
    for (const resource of request.spec.resources) exports.push(await readExport(provider, resource, signal));
    return { ref, exports };
  } catch (error) {
    await takeBack(provider, [ref]);
    throw error;
  }
}

/** Deletes requests at the provider, best effort: it deletes them itself after a while. Also after Ctrl-C. */
export async function takeBack(provider: Provider, requests: readonly ObjectRef[]): Promise<void> {
  const signal = AbortSignal.timeout(takeBackMs);
  for (const ref of requests) {
    await provider.client.delete(apiServiceExportRequests, ref, { signal }).catch(() => false);
  }
}

const takeBackMs = 10_000;

async function readExport(
  provider: Provider,
  resource: RequestedResource,
  signal: AbortSignal,
): Promise<OfferedApi> {
  const name = crdNameOf(resource);
  const ref = { namespace: provider.namespace, name };
  const exported = await provider.client.get<DynamicObject>(apiServiceExports, ref, { signal });
  try {
    return decodeOfferedApi(exported, resource);
  } catch (cause) {
    if (!(cause instanceof WireError)) throw cause;
    throw new CliError(
      "ExportFailed",
      `The provider's export of ${name} cannot be used: ${cause.message}. ${nothingChanged}`,
      { cause },
    );
  }
}

/** The request as it is sent; without a name, or with one that is taken, the server completes it. */
export function exportRequestOf(
  request: ExportRequestResponse,
  namespace: string,
  nameIsTaken = false,
): APIServiceExportRequest {
  const { name } = request.metadata;
  const metadata =
    name === "" ? { generateName: "export-" } : nameIsTaken ? { generateName: `${name}-` } : { name };
  return {
    apiVersion: request.apiVersion,
    kind: request.kind,
    metadata: { ...metadata, namespace },
    spec: request.spec,
  };
}

/**
 * Creates the request. A new tenant's quota counts nothing until the control plane has looked at it, for up to half a minute while its kinds are
 * new; until then the API server refuses every request, so that is waited for.
 */
async function createOnceCounted(
  context: CliContext,
  provider: Provider,
  request: ExportRequestResponse,
  timeoutMs: number,
): Promise<APIServiceExportRequest> {
  let refusal = "";
  const what = "the provider to count the objects of this cluster";
  const problem = (): string =>
    `${refusal}. Ask the provider's operator whether kube-controller-manager runs.`;
  return waitFor(context, { what, timeoutMs, problem, intervalMs: 1_000 }, async () => {
    try {
      return await createRequest(provider, request, context.signal);
    } catch (error) {
      if (!(error instanceof ApiError) || quotaRefusalOf(error) !== "NotCounted") throw error;
      refusal = printable(error.message);
      return undefined;
    }
  });
}

async function createRequest(
  provider: Provider,
  request: ExportRequestResponse,
  signal: AbortSignal,
): Promise<APIServiceExportRequest> {
  const create = (nameIsTaken: boolean): Promise<APIServiceExportRequest> =>
    provider.client.create(
      apiServiceExportRequests,
      exportRequestOf(request, provider.namespace, nameIsTaken),
      { signal },
    );
  try {
    return await create(false);
  } catch (error) {
    if (isAlreadyExists(error)) return create(true);
    throw error;
  }
}

/** Returns the error with what to do when the provider's cluster refused the account, or the same error. */
function explained({ config }: Provider, error: unknown): unknown {
  const refusal = isUnauthorized(error)
    ? `The provider's cluster at ${config.server} refused the kubeconfig of this app cluster (401): it was revoked or has expired`
    : isForbidden(error)
      ? `The provider does not allow this cluster to request APIs: ${error.message}`
      : undefined;
  if (refusal === undefined) return error;
  return new CliError("ExportFailed", `${refusal}. Log in again with kubectl bind <url>.`, { cause: error });
}

async function waitForSuccess(
  context: CliContext,
  provider: Provider,
  ref: { readonly namespace: string; readonly name: string },
  timeoutMs: number,
): Promise<void> {
  let latest: APIServiceExportRequest | undefined;
  const what = `the provider to export ${ref.name}`;
  const problem = (): string => {
    const reason = latest?.status?.conditions?.find(({ status }) => status === "False");
    return reason === undefined
      ? "it has not said why. Ask the provider's operator whether its backend runs."
      : printable(`${reason.reason ?? ""} ${reason.message ?? ""}`.trim());
  };
  await waitFor(context, { what, timeoutMs, problem }, async () => {
    latest = await provider.client.find<APIServiceExportRequest>(apiServiceExportRequests, ref, {
      signal: context.signal,
    });
    if (latest === undefined) {
      throw new CliError("ExportFailed", `The request ${ref.name} was deleted on the provider's side.`);
    }
    if (latest.status?.phase !== "Failed") return latest.status?.phase === "Succeeded" ? true : undefined;
    throw new CliError(
      "ExportFailed",
      `The provider refused the request ${ref.name}: ${printable(latest.status.terminalMessage ?? problem())}`,
    );
  });
}
