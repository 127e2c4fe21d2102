/** The boundary where the server's JSON becomes typed objects. The only file of this package that uses `as`. */
import {
  isRecord,
  type KubeObject,
  listAt,
  parseExactJson,
  soundMetadata,
  textAt,
  valueAt,
} from "@klutch/kube-core";
import { ApiError, TransportError } from "./errors.ts";
import type { ListPage } from "./types.ts";

/** Parses JSON text as `parseExactJson` does; `what` names the answer in the error. */
export function parseJson(text: string, what: string): unknown {
  try {
    return parseExactJson(text);
  } catch (cause) {
    throw new TransportError("Decode", `${what} is not JSON: ${text.slice(0, 120)}`, { cause });
  }
}

/**
 * Takes an object of the API on trust: the server validated it against the schema, and the caller names the type it asked
 * for. Only the envelope is checked, and fields of the metadata that are not of their type are left out: the server may be a stranger's.
 */
export function decodeObject<T extends KubeObject>(value: unknown, what: string): T {
  if (!isRecord(value) || !isRecord(value["metadata"])) {
    throw new TransportError("Decode", `${what} is not a Kubernetes object`);
  }
  const metadata = soundMetadata(value["metadata"]);
  return (metadata === value["metadata"] ? value : { ...value, metadata }) as unknown as T;
}

/** Decodes one page; items get the list's apiVersion and kind, which the server leaves out of them. */
export function decodeList<T extends KubeObject>(text: string, what: string, kind: string): ListPage<T> {
  const value = parseJson(text, what);
  if (!isRecord(value) || !isRecord(value["metadata"]))
    throw new TransportError("Decode", `${what} is not a list`);
  const { metadata, apiVersion, items } = value;
  const list = listAt(items);
  return {
    resourceVersion: textAt(metadata, "resourceVersion") ?? "",
    continueToken: textAt(metadata, "continue"),
    length: text.length,
    items: list.map((item) => {
      const object = decodeObject<T>(item, what);
      return object.kind === undefined ? { ...object, apiVersion: String(apiVersion), kind } : object;
    }),
  };
}

/** Reads a `Status` body, or makes the best of any other error answer. */
export function decodeError(
  status: number,
  text: string,
  retryAfter: string | undefined,
  what: string,
): ApiError {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  const said = valueAt(body, "message");
  const message = typeof said === "string" ? said : text.slice(0, 300).trim();
  return new ApiError({
    status,
    reason: textAt(body, "reason") ?? "",
    message: `${what}: ${message === "" ? `HTTP ${status}` : message}`,
    details: valueAt(body, "details"),
    retryAfterMs: retryAfterOf(retryAfter, body),
  });
}

/** A server, or a gateway before it, that asks for more would silence this client for as long as it likes. */
const longestRetryAfterMs = 60_000;

/** Seconds of a Retry-After header, else of the status details, in milliseconds: at most a minute. */
function retryAfterOf(header: string | undefined, status: unknown): number | undefined {
  const seconds = Number(header ?? valueAt(status, "details", "retryAfterSeconds"));
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds * 1000, longestRetryAfterMs) : undefined;
}
