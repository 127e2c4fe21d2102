/** Body of `POST /bind-noninteractive`, by which programs bind APIs without a browser. */
import { printable } from "@klutch/kube-core";
import { displayName } from "./display-name.ts";
import { checkApiName } from "./foreign/api-name.ts";
import { type LoginWish, readWish } from "./login-wish.ts";
import type { ClusterProof } from "./renewal.ts";
import { decodeClusterProof } from "./session.ts";
import { array, record, text, WireError } from "./wire-fields.ts";

/** A wish that was checked. */
export interface NoninteractiveBind {
  /** Name that the caller chose for the app cluster. It has no `#`, which would end it in an annotation. */
  readonly clusterId: string;
  /** Name of the app cluster for people. The CLI of a9s sends none. */
  readonly clusterName: string | undefined;
  /** Each API once, in the order of the request. Their names are well-formed; whether they are offered is not checked. */
  readonly apis: readonly { readonly group: string; readonly resource: string }[];
}

/** APIs of one request. As many export requests of an app cluster are allowed at a time by default. */
const mostApis = 100;
const clusterIdRule = "must be 1 to 64 letters, digits, dots, - and _";

/** Ignores unknown fields. Throws `WireError`, whose message names the field, its value and the rule. */
export function decodeNoninteractiveBind(value: unknown): NoninteractiveBind {
  const root = record(value, "body");
  const clusterId = decodeClusterId(root["clusterID"]);
  return { clusterId, clusterName: displayName(root["clusterName"]), apis: decodeApis(root["apis"]) };
}

/** A wish of a person with a session, that was checked. */
export interface SessionBind extends Pick<NoninteractiveBind, "clusterId" | "clusterName"> {
  /** APIs by name, or a wish that the backend resolves, as in a login on another device. */
  readonly wanted: NoninteractiveBind["apis"] | LoginWish;
  /** Proof that the person holds the app cluster. */
  readonly proof: ClusterProof | undefined;
}

/** Reads the body that a session comes with: it may have `wish` in the place of `apis`, and `proof`. Throws `WireError`, as above. */
export function decodeSessionBind(value: unknown): SessionBind {
  const root = record(value, "body");
  const proof = decodeClusterProof(root);
  if (root["wish"] === undefined) {
    const { apis, ...place } = decodeNoninteractiveBind(root);
    return { ...place, wanted: apis, proof };
  }
  const clusterId = decodeClusterId(root["clusterID"]);
  const wanted = readWish(text(root["wish"], "wish"));
  if (wanted.kind === "none")
    throw new WireError("wish", "names no API; it must be all, service=<service> or apis=<name>,<name>");
  return { clusterId, clusterName: displayName(root["clusterName"]), wanted, proof };
}

function decodeClusterId(value: unknown): string {
  if (typeof value === "string" && /^[\w.-]{1,64}$/.test(value)) return value;
  throw new WireError("clusterID", `is ${shown(value)}, but ${clusterIdRule}`);
}

function decodeApis(value: unknown): NoninteractiveBind["apis"] {
  const items = array(value, "apis");
  if (items.length === 0 || items.length > mostApis)
    throw new WireError("apis", `has ${items.length} entries, but must have 1 to ${mostApis}`);
  const apis = new Map<string, NoninteractiveBind["apis"][number]>();
  for (const [index, item] of items.entries()) {
    const api = decodeApi(item, `apis[${index}]`);
    apis.set(`${api.resource}.${api.group}`, api);
  }
  return [...apis.values()];
}

function decodeApi(value: unknown, field: string): NoninteractiveBind["apis"][number] {
  const root = record(value, field);
  const group = root["group"] === undefined ? "" : root["group"];
  if (typeof group !== "string")
    throw new WireError(`${field}.group`, 'is not a text, but must be one, such as "example.org"');
  const resource = text(root["resource"], `${field}.resource`);
  const fault = checkApiName(group, resource);
  if (fault !== undefined) throw new WireError(field, fault);
  return { group, resource };
}

function shown(value: unknown): string {
  if (typeof value !== "string") return value === undefined ? "missing" : "not a text";
  return value.trim() === "" ? "blank" : JSON.stringify(printable(value).slice(0, 80));
}
