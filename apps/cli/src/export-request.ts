/** Asking the provider for APIs. */
import {
  type APIServiceExport,
  type APIServiceExportRequest,
  apiServiceExportRequests,
  apiServiceExports,
  crdNameOf,
  type ExportRequestResponse,
} from "@klutch/api";
import { ApiError, isAlreadyExists, isForbidden } from "@klutch/kube";
import type { Provider } from "./clusters.ts";
import type { CliContext } from "./context.ts";
import { CliError } from "./errors.ts";
import { waitFor } from "./wait.ts";

/**
 * Creates the request and waits until the provider has made the exports. On refusal or when time runs out the request is taken
 * back, so that nothing half-made stays.
 */
export async function requestExports(
  context: CliContext,
  provider: Provider,
  request: ExportRequestResponse,
  timeoutMs: number,
): Promise<APIServiceExport[]> {
  const { signal } = context;
  const created = await createRequest(provider, request, signal);
  const ref = { namespace: provider.namespace, name: created.metadata.name ?? "" };
  try {
    await waitForSuccess(context, provider, ref, timeoutMs);
  } catch (error) {
    await provider.client.delete(apiServiceExportRequests, ref).catch(() => false);
    throw error;
  }
  return Promise.all(
    request.spec.resources.map((resource) => {
      const name = crdNameOf(resource);
      return provider.client.get<APIServiceExport>(
        apiServiceExports,
        { namespace: provider.namespace, name },
        { signal },
      );
    }),
  );
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
    if (error instanceof ApiError && error.status === 401) {
      throw new CliError(
        "ExportFailed",
        `The provider's cluster at ${provider.config.server} refused the kubeconfig of this app cluster (401): it was revoked or has expired. Log in again with kubectl bind <url>.`,
        { cause: error },
      );
    }
    if (!isForbidden(error)) throw error;
    throw new CliError(
      "ExportFailed",
      `The provider does not allow this cluster to request APIs: ${error.message}. Log in again with kubectl bind <url>.`,
      { cause: error },
    );
  }
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
      : `${reason.reason ?? ""} ${reason.message ?? ""}`.trim();
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
      `The provider refused the request ${ref.name}: ${latest.status.terminalMessage ?? problem()}`,
    );
  });
}
