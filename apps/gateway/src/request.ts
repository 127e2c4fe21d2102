/** Tells the few requests that the gateway answers itself from all others. No I/O. */
import { badRequest, type Failure } from "./status.ts";

/** Reasons why a request goes to the API server. */
export type PassReason =
  | "method"
  | "path"
  | "unbound"
  | "format"
  | "parameters"
  | "selector"
  | "paged"
  | "consistent"
  | "newer"
  | "unsynced"
  | "access";

/** A list or a watch that the gateway may answer. */
export interface CollectionRequest {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  /** All namespaces when absent. */
  readonly namespace: string | undefined;
  /** `any`: whatever is known. `latest`: at least as new as the API server is now. */
  readonly from: number | "any" | "latest";
  /** Absent for a list. */
  readonly watch:
    | {
        /** The watch begins with the objects of now. */
        readonly sendsInitialEvents: boolean;
        /** A bookmark says where they end (KEP-3157). */
        readonly marksInitialEvents: boolean;
        readonly bookmarks: boolean;
        readonly timeoutSeconds: number | undefined;
      }
    | undefined;
}

/** Decision about a request. */
export type ReadRequest =
  | { readonly kind: "answer"; readonly request: CollectionRequest }
  | { readonly kind: "pass"; readonly reason: PassReason; readonly isWatch: boolean }
  | { readonly kind: "refuse"; readonly failure: Failure };

const pathCharacters = /^\/[A-Za-z0-9\-._~:@!$&'()*+,;=%/]*$/;
const collection =
  /^\/apis\/(?<group>[a-z0-9.-]+)\/(?<version>v[a-z0-9]+)(?:\/namespaces\/(?<namespace>[a-z0-9-]+))?\/(?<plural>[a-z0-9-]+)$/;
const known: ReadonlySet<string> = new Set([
  "watch",
  "allowWatchBookmarks",
  "sendInitialEvents",
  "resourceVersion",
  "resourceVersionMatch",
  "timeoutSeconds",
  "timeout",
  "limit",
  "labelSelector",
  "fieldSelector",
]);
/** Matches the duration that typed clients in Go add to each watch, and that API servers only heed for other requests. */
const goDuration = /^(\d{1,9}(\.\d{1,9})?(h|m|s|ms))+$/;
const version = /^[1-9]\d{0,14}$/;

/** Reads method, target and `Accept` of a request. */
export function readRequest(method: string, target: string, accept: string | undefined): ReadRequest {
  const [path = "", query = "", ...rest] = target.split("?");
  if (!pathCharacters.test(path) || rest.length > 0 || !/^[\x21-\x7e]*$/.test(query) || query.includes("#"))
    return refuse(`the path ${JSON.stringify(path.slice(0, 80))} has characters that no path of the API has`);
  const segments = path.slice(1).split("/");
  if (segments.slice(0, -1).includes("") || segments.some((one) => isHidden(one)))
    return refuse("the path must not have empty, relative or hidden segments");
  const parameters = new URLSearchParams(query);
  const isWatch = isTrue(parameters.get("watch")) || segments[3] === "watch" || segments[2] === "watch";
  const pass = (reason: PassReason): ReadRequest => ({ kind: "pass", reason, isWatch });
  if (method !== "GET") return pass("method");
  const parts = collection.exec(path)?.groups;
  if (parts === undefined) return pass("path");
  if (accept !== undefined && !isJson(accept)) return pass("format");
  const names = [...parameters.keys()];
  if (new Set(names).size < names.length || names.some((name) => !known.has(name))) return pass("parameters");
  if ((parameters.get("labelSelector") ?? "") !== "" || (parameters.get("fieldSelector") ?? "") !== "")
    return pass("selector");
  const { group = "", version: apiVersion = "", plural = "", namespace } = parts;
  const answer = read(parameters);
  if (typeof answer === "string") return pass(answer);
  return { kind: "answer", request: { group, version: apiVersion, plural, namespace, ...answer } };
}

function refuse(message: string): ReadRequest {
  return { kind: "refuse", failure: badRequest(message) };
}

/** Tells `..`, and codes that become a slash, a dot or an end of the path when a reader decodes them twice. */
function isHidden(segment: string): boolean {
  return (
    segment === "." ||
    segment === ".." ||
    /%(2e|2f|5c|25|00|23|3f|0a|0d)/i.test(segment) ||
    /%(?![0-9a-f]{2})/i.test(segment)
  );
}

function isJson(accept: string): boolean {
  return accept.split(",").every((one) => /^(application\/json|\*\/\*)$/.test(one.trim()));
}

/** Reads the rest of the parameters, or says why the API server has to. */
function read(parameters: URLSearchParams): Pick<CollectionRequest, "from" | "watch"> | PassReason {
  const [watch, bookmarks, initial] = ["watch", "allowWatchBookmarks", "sendInitialEvents"].map((name) =>
    flagOf(parameters.get(name)),
  );
  if (watch === undefined || bookmarks === undefined || initial === undefined) return "parameters";
  const text = parameters.get("resourceVersion") ?? "";
  if (text !== "" && text !== "0" && !version.test(text)) return "parameters";
  const from = text === "" ? "latest" : text === "0" ? "any" : Number(text);
  const match = parameters.get("resourceVersionMatch") ?? "";
  const limit = parameters.get("limit") ?? "";
  const timeout = parameters.get("timeoutSeconds") ?? "";
  if (!/^\d{0,9}$/.test(limit) || !/^\d{0,9}$/.test(timeout)) return "parameters";
  const deadline = parameters.get("timeout");
  if (deadline !== null && !(watch && goDuration.test(deadline))) return "parameters";
  if (!watch) {
    if (initial || (match !== "" && match !== "NotOlderThan")) return "parameters";
    // An API server does not page what it has in memory, and pages a list from a version on.
    if (from !== "any" && Number(limit) > 0) return "paged";
    return from === "latest" ? (match === "" ? "consistent" : "parameters") : { from, watch: undefined };
  }
  if (limit !== "" && limit !== "0") return "parameters";
  const isStreamed = parameters.has("sendInitialEvents");
  if (isStreamed ? match !== "NotOlderThan" || (initial && !bookmarks) : match !== "") return "parameters";
  // Without a version a watch begins with the objects of this moment, which only the API server knows.
  if (!initial && from === "latest") return "consistent";
  const sendsInitialEvents = isStreamed ? initial : from === "any";
  const timeoutSeconds = Number(timeout) > 0 ? Number(timeout) : undefined;
  return { from, watch: { sendsInitialEvents, marksInitialEvents: initial, bookmarks, timeoutSeconds } };
}

/** Reads a Boolean as Kubernetes writes it; undefined for other words. */
function flagOf(text: string | null): boolean | undefined {
  if (text === null || text === "false" || text === "0") return false;
  return isTrue(text) ? true : undefined;
}

function isTrue(text: string | null): boolean {
  return text === "true" || text === "1";
}
