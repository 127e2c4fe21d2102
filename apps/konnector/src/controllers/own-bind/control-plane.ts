/** Asks a control plane for one API: at its backend with a token of this konnector's service account, then at its API server with the answer. */
import { readFile } from "node:fs/promises";
import {
  type APIServiceExportRequest,
  apiServiceExportRequests,
  apiServiceExports,
  type BindingResponse,
  crdNameOf,
  type ExportRequestResponse,
  type PermissionClaim,
  plainText,
  readBindingResponse,
  resourceNamed,
  WireError,
} from "@klutch/api";
import {
  ApiError,
  type ClusterConfig,
  isForbidden,
  type KubeClient,
  KubeconfigError,
  parseForeignKubeconfig,
  quotaRefusalOf,
} from "@klutch/kube";
import { type DynamicObject, textAt } from "@klutch/kube-core";
import type { OwnBind } from "../../config.ts";
import { postJson } from "../../provider-connection/post-json.ts";

/** Reason of the condition `Requested`. */
type OwnBindReason = "BindRefused" | "BackendUnreachable" | "AnswerNotUsable" | "TokenNotReadable";

/** An API was not bound. The message says why, and may quote the backend. */
export class OwnBindError extends Error {
  readonly code = "OwnBind";
  readonly reason: OwnBindReason;

  constructor(reason: OwnBindReason, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "OwnBindError";
    this.reason = reason;
  }
}

/** A tenant's account, as the backend handed it out. */
export interface BackendAnswer {
  /** The kubeconfig as text. */
  readonly kubeconfig: string;
  readonly config: ClusterConfig & { readonly namespace: string };
  readonly request: ExportRequestResponse;
}

const longestWords = 512;

/** Sends the token and the API's name. Throws `OwnBindError`; no message holds the token. */
export async function askBackend(
  { url, appCluster, tokenFile }: OwnBind,
  api: string,
  signal: AbortSignal,
): Promise<BackendAnswer> {
  const token = await readFile(tokenFile, { encoding: "utf8", signal }).catch((cause: unknown) => {
    throw new OwnBindError("TokenNotReadable", `the service account token ${tokenFile} cannot be read`, {
      cause,
    });
  });
  const body = { clusterID: appCluster, apis: [resourceNamed(api)] };
  const answer = await postJson(url, body, signal, token.trim()).catch((cause: unknown) => {
    throw new OwnBindError("BackendUnreachable", `the backend ${url} does not answer`, { cause });
  });
  if (answer.status !== 200) throw refusal(url, answer);
  try {
    return usable(readBindingResponse(answer.body), api);
  } catch (cause) {
    if (!(cause instanceof WireError || cause instanceof KubeconfigError)) throw cause;
    throw new OwnBindError("AnswerNotUsable", `the answer of ${url} cannot be used: ${cause.message}`, {
      cause,
    });
  }
}

function refusal(url: string, { status, body }: Awaited<ReturnType<typeof postJson>>): OwnBindError {
  const words = [textAt(body, "error"), textAt(body, "advice")].filter(
    (text) => text !== undefined && text !== "",
  );
  const said = words.length === 0 ? "" : `: ${plainText(words.join(" "), longestWords)}`;
  const reason = status === 429 || status >= 500 ? "BackendUnreachable" : "BindRefused";
  return new OwnBindError(reason, `the backend ${url} answered HTTP ${status}${said}`);
}

/** The backend is not to choose which APIs this cluster gets. */
function usable({ kubeconfig: encoded, requests }: BindingResponse, api: string): BackendAnswer {
  const names = requests.flatMap(({ spec }) => spec.resources.map((resource) => crdNameOf(resource)));
  const [request] = requests;
  if (request === undefined || names.length !== 1 || names[0] !== api)
    throw new WireError("requests", `is for ${names.join(", ")} and not for ${api}`);
  const kubeconfig = Buffer.from(encoded, "base64").toString("utf8");
  const config = parseForeignKubeconfig(kubeconfig);
  const { namespace } = config;
  if (namespace === undefined) throw new WireError("kubeconfig", "names no namespace");
  return { kubeconfig, config: { ...config, name: "provider", namespace }, request };
}

/** Result of a look at the control plane. */
export interface Exported {
  readonly isExported: boolean;
  /** Names the thing that has to happen first. */
  readonly waitsFor?: string | undefined;
}

/**
 * Makes sure that the API is exported to this cluster: creates the request once, with just the accepted claims, and looks at the last one. Throws
 * `OwnBindError` if the control plane refused it; that request is deleted, so that the next attempt asks again.
 */
export async function ensureExport(
  client: KubeClient,
  { config: { namespace }, request }: BackendAnswer,
  accepted: readonly PermissionClaim[],
  signal: AbortSignal,
): Promise<Exported> {
  const [resource] = request.spec.resources;
  if (resource === undefined) return { isExported: false };
  const name = crdNameOf(resource);
  if ((await client.find(apiServiceExports, { namespace, name }, { signal })) !== undefined)
    return { isExported: true };
  const ref = { namespace, name: requestName(name) };
  const present = await client.find<APIServiceExportRequest>(apiServiceExportRequests, ref, { signal });
  if (present?.status?.phase === "Failed") {
    const why = plainText(present.status.terminalMessage ?? "it does not say why", longestWords);
    await client.delete(apiServiceExportRequests, ref, {
      signal,
      preconditions: { uid: present.metadata.uid },
    });
    throw new OwnBindError("BindRefused", `the control plane refused the request ${ref.name}: ${why}`);
  }
  if (present !== undefined) {
    const { message = "its backend has not answered yet" } =
      present.status?.conditions?.find(({ status }) => status === "False") ?? {};
    return {
      isExported: false,
      waitsFor: `the request ${ref.name} in the control plane: ${plainText(message, longestWords)}`,
    };
  }
  const wanted: DynamicObject = {
    apiVersion: request.apiVersion,
    kind: request.kind,
    metadata: ref,
    spec: { ...request.spec, resources: [{ ...resource, permissionClaims: accepted }] },
  };
  try {
    await client.create(apiServiceExportRequests, wanted, { signal });
  } catch (error) {
    if (!(error instanceof ApiError) || !isForbidden(error)) throw error;
    // A new tenant's quota refuses everything until it has been counted.
    if (quotaRefusalOf(error) === "NotCounted")
      return {
        isExported: false,
        waitsFor: "the control plane, which has not counted the objects of this cluster yet",
      };
    throw new OwnBindError("BindRefused", `the control plane does not allow the request ${ref.name}`, {
      cause: error,
    });
  }
  return { isExported: false, waitsFor: `the request ${ref.name} in the control plane` };
}

/** A name of its own, because people's requests for the API have its name. */
function requestName(api: string): string {
  return `konnector.${api}`;
}
