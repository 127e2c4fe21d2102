/** The boundary where the server's JSON becomes typed objects. The only file of this package that uses `as`. */
import {
  isRecord,
  type KubeObject,
  listAt,
  parseExactJson,
  plainText,
  soundMetadata,
  textAt,
  valueAt,
} from "@klutch/kube-core";
import { excessIn, parsableList } from "./bounds.ts";
import { ApiError, TransportError } from "./errors.ts";
import type { ListPage } from "./types.ts";

/** Parses JSON text as `parseExactJson` does, within the bounds of `bounds.ts`; `what` names the answer in the error. */
export function parseJson(text: string, what: string): unknown {
  const excess = excessIn(text);
  if (excess !== undefined) throw new TransportError("TooLarge", `${what} ${excess}, so it is not read`);
  return parseJudged(text, what);
}

/** Parses text that `excessIn` or `parsableList` let pass. */
export function parseJudged(text: string, what: string): unknown {
  try {
    return parseExactJson(text);
  } catch (cause) {
    // Without a word of the text: who chose the server's address must not read it in our messages.
    throw new TransportError("Decode", `${what} is not JSON (${text.length} characters)`, { cause });
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

/**
 * Decodes one page; items get the list's apiVersion and kind, which the server leaves out of them. An object that exceeds a bound is left out, and
 * `onLeftOut` gets why.
 */
export function decodeList<T extends KubeObject>(
  text: string,
  what: string,
  kind: string,
  onLeftOut?: (excess: string) => void,
): ListPage<T> {
  const parsable = parsableList(text, what, onLeftOut);
  const value = parseJudged(parsable, what);
  if (!isRecord(value) || !isRecord(value["metadata"]))
    throw new TransportError("Decode", `${what} is not a list`);
  const { metadata, apiVersion, items } = value;
  const all = listAt(items);
  const list = parsable === text ? all : all.filter((item) => item !== null);
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

/** Longest message of a server that is quoted. */
const longestMessage = 2_048;
const longestReason = 64;

/**
 * Reads a `Status` body, or makes the best of any other error answer. Only the message of a `Status` is quoted, cleaned and bounded: other
 * text may be a document of a server that a stranger's kubeconfig leads to.
 */
export function decodeError(
  status: number,
  text: string,
  retryAfter: string | undefined,
  what: string,
): ApiError {
  let body: unknown;
  try {
    if (excessIn(text) === undefined) body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  return errorOf(status, body, retryAfter, what);
}

/** As `decodeError`, of a body that was parsed; undefined when it was not JSON. */
export function errorOf(
  status: number,
  body: unknown,
  retryAfter: string | undefined,
  what: string,
): ApiError {
  const said = valueAt(body, "kind") === "Status" ? textAt(body, "message") : undefined;
  const message = said === undefined ? "" : plainText(said, longestMessage);
  return new ApiError({
    status,
    reason: textAt(body, "reason")?.slice(0, longestReason) ?? "",
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
