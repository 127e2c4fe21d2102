/** Defines the HTTP messages between backend and plugin. See docs/reference/login.md. */
import { accepts, problemsOf } from "@klutch/schema";
import { decodeControlPlaneId } from "./control-plane-id.ts";
import { exportRequestSpec, type APIServiceExportRequestSpec } from "./kinds/api-service-export-request.ts";
import { bindGroup } from "./names.ts";
import { withoutNulls } from "./foreign/read.ts";
import { checkedConfirmUrl, checkedDeviceUrl, checkedSessionUrl } from "./renewal.ts";
import { array, record, text, WireError } from "./wire-fields.ts";

export { WireError } from "./wire-fields.ts";

/** Answer of `GET /export`. Its apiVersion is the bare `v1alpha1`, and existing plugins insist on it. */
export interface BindingProvider {
  readonly kind: "BindingProvider";
  readonly apiVersion: "v1alpha1";
  readonly providerPrettyName: string;
  readonly version: string;
  readonly authenticationMethods: readonly {
    readonly method: "OAuth2CodeGrant";
    readonly oauth2CodeGrant: { readonly authenticatedURL: string };
  }[];
  /** Id of the control plane by `controlPlaneIdOf`. Optional: existing backends omit it, and existing plugins ignore it. */
  readonly controlPlaneId?: string;
  /** URL at which a plugin confirms a login. Optional: existing backends have none, and existing plugins ignore it. */
  readonly confirmUrl?: string;
  /** True for a backend that binds several APIs with one login (`LoginWish`). Optional: backends of earlier releases bind one. */
  readonly severalApis?: boolean;
  /** URL at which a login on another device begins. Optional: given only where the identity provider has that flow. */
  readonly deviceUrl?: string;
  /** URL at which a login brings a session for scripts. Optional: backends of earlier releases have none, and operators may close it. */
  readonly sessionUrl?: string;
}

/** A request inside a BindingResponse. */
export interface ExportRequestResponse {
  readonly apiVersion: string;
  readonly kind: "APIServiceExportRequest";
  readonly metadata: { readonly name: string };
  readonly spec: APIServiceExportRequestSpec;
  readonly status: Readonly<Record<string, never>>;
}

/** Answer to the plugin after a person bound an API. `kubeconfig` is standard base64. */
export interface BindingResponse {
  readonly kind: "BindingResponse";
  readonly apiVersion: "klutch.anynines.com/v1alpha1";
  readonly authentication: { readonly oauth2CodeGrant: { readonly sid: string; readonly id: string } };
  readonly kubeconfig: string;
  readonly requests: readonly ExportRequestResponse[];
}

const bindApiVersion = `${bindGroup}/v1alpha1` as const;

/** Checks the body of `GET /export`; a `controlPlaneId`, `confirmUrl`, `deviceUrl` or `sessionUrl` that is malformed is left out. Throws `WireError`. */
export function decodeBindingProvider(value: unknown): BindingProvider {
  const root = record(value, "BindingProvider");
  expectText(root, "kind", "BindingProvider");
  expectText(root, "apiVersion", "v1alpha1");
  const methods = array(root["authenticationMethods"], "authenticationMethods");
  for (const [index, method] of methods.entries()) {
    const field = `authenticationMethods[${index}]`;
    const entry = record(method, field);
    if (entry["method"] !== "OAuth2CodeGrant") continue;
    const url = text(
      record(entry["oauth2CodeGrant"], `${field}.oauth2CodeGrant`)["authenticatedURL"],
      `${field}.oauth2CodeGrant.authenticatedURL`,
    );
    const controlPlaneId = decodeControlPlaneId(root["controlPlaneId"]);
    const confirmUrl = checkedConfirmUrl(root["confirmUrl"]);
    const deviceUrl = checkedDeviceUrl(root["deviceUrl"]);
    const sessionUrl = checkedSessionUrl(root["sessionUrl"]);
    return {
      kind: "BindingProvider",
      apiVersion: "v1alpha1",
      providerPrettyName: typeof root["providerPrettyName"] === "string" ? root["providerPrettyName"] : "",
      version: typeof root["version"] === "string" ? root["version"] : "",
      authenticationMethods: [{ method: "OAuth2CodeGrant", oauth2CodeGrant: { authenticatedURL: url } }],
      ...(controlPlaneId === undefined ? {} : { controlPlaneId }),
      ...(confirmUrl === undefined ? {} : { confirmUrl }),
      ...(root["severalApis"] === true ? { severalApis: true } : {}),
      ...(deviceUrl === undefined ? {} : { deviceUrl }),
      ...(sessionUrl === undefined ? {} : { sessionUrl }),
    };
  }
  throw new WireError(
    "authenticationMethods",
    "no OAuth2CodeGrant among them, which is the only one this plugin knows",
  );
}

/** Standard base64 of the JSON, which both alphabets' decoders of existing plugins take; encode it for a query. */
export function encodeBindingResponse(response: BindingResponse): string {
  return Buffer.from(JSON.stringify(response)).toString("base64");
}

/** Reads a response in either base64 alphabet. Throws `WireError`. */
export function decodeBindingResponse(encoded: string): BindingResponse {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(encoded.replaceAll(" ", "+"), "base64").toString("utf8"));
  } catch {
    throw new WireError("response", "is not base64 of JSON");
  }
  return readBindingResponse(value);
}

/** Checks a response that was decoded. Throws `WireError`. */
export function readBindingResponse(value: unknown): BindingResponse {
  const root = record(value, "response");
  expectText(root, "kind", "BindingResponse");
  expectText(root, "apiVersion", bindApiVersion);
  const grant = record(
    record(root["authentication"], "authentication")["oauth2CodeGrant"],
    "authentication.oauth2CodeGrant",
  );
  const requests = array(root["requests"], "requests").map((item, index) =>
    decodeRequest(item, `requests[${index}]`),
  );
  if (requests.length === 0) throw new WireError("requests", "is empty");
  return {
    kind: "BindingResponse",
    apiVersion: bindApiVersion,
    authentication: {
      oauth2CodeGrant: {
        sid: text(grant["sid"], "sid"),
        id: typeof grant["id"] === "string" ? grant["id"] : "",
      },
    },
    kubeconfig: text(root["kubeconfig"], "kubeconfig"),
    requests,
  };
}

/** Checks an APIServiceExportRequest that came from a response or a file. Throws `WireError`. */
export function decodeRequest(value: unknown, field: string): ExportRequestResponse {
  const root = record(value, field);
  expectText(root, "kind", "APIServiceExportRequest", field);
  expectText(root, "apiVersion", bindApiVersion, field);
  const metadata = record(root["metadata"] ?? {}, `${field}.metadata`);
  const spec = withoutNulls(record(root["spec"], `${field}.spec`));
  if (array(record(spec, field)["resources"], `${field}.spec.resources`).length === 0)
    throw new WireError(`${field}.spec.resources`, "is empty");
  if (!accepts(exportRequestSpec, spec)) {
    const [problem] = problemsOf(exportRequestSpec.json, spec, `${field}.spec`);
    throw new WireError(
      problem?.field ?? field,
      `is ${problem?.value ?? "wrong"}, expected ${problem?.expected ?? ""}`,
    );
  }
  return {
    apiVersion: bindApiVersion,
    kind: "APIServiceExportRequest",
    metadata: { name: typeof metadata["name"] === "string" ? metadata["name"] : "" },
    spec,
    status: {},
  };
}

function expectText(
  root: Readonly<Record<string, unknown>>,
  name: string,
  wanted: string,
  parent = "",
): void {
  const field = parent === "" ? name : `${parent}.${name}`;
  if (root[name] !== wanted)
    throw new WireError(field, `is ${JSON.stringify(root[name])}, but ${JSON.stringify(wanted)} is needed`);
}
