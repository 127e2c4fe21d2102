/**
 * Words on the wire of a login on another device (RFC 8628), which the backend passes on between the plugin and the identity provider. The
 * device code itself never leaves the backend in clear. See docs/reference/login.md.
 */
import { plainText } from "@klutch/kube-core";
import { isPublicKey } from "./cluster-key.ts";
import { displayName } from "./display-name.ts";
import { type LoginWish, readWish } from "./login-wish.ts";
import { record, text, WireError } from "./wire-fields.ts";

/** Stands for the redirect URL in the signed text of such a login, which has none; the name of the grant in RFC 8628. */
export const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

/** First request of the plugin, to the device URL. */
export interface DeviceLoginRequest {
  readonly sessionId: string;
  readonly clusterId: string;
  /** Name of the app cluster for people. */
  readonly clusterName: string | undefined;
  /** Public keys of this login and of the app cluster. Neither proves anything yet. */
  readonly answerKey: string;
  readonly clusterKey: string;
  /** APIs to bind: all of them, because no page shows others. */
  readonly wish: LoginWish;
}

/** Words for the person, and how often to ask whether they did it. */
export interface DeviceCode {
  /** Printable ASCII without spaces. */
  readonly userCode: string;
  /** https, or http on this machine. Text for a person: no program may open it, because the other side chose it. */
  readonly verificationUri: string;
  /** The same page with the code filled in; absent where there is none, or where it is on another server. */
  readonly verificationUriComplete?: string | undefined;
  /** Seconds; at most `longestDeviceLoginSeconds`. */
  readonly expiresIn: number;
  /** Seconds between two polls; 1 to `longestPollSeconds`. */
  readonly interval: number;
}

/** The backend's answer to the first request. */
export interface DeviceLoginStart extends DeviceCode {
  /** The login, sealed by the backend for itself; for the next poll. */
  readonly handle: string;
}

/** The backend's answer to a poll: 202 while the person has not decided, or 200 with the sealed `LoginOffer`. */
export type DevicePoll =
  | { readonly kind: "pending"; readonly interval: number; readonly handle: string }
  | { readonly kind: "offered"; readonly offer: string };

/** Longest time that a code is waited for, whatever the identity provider says. */
export const longestDeviceLoginSeconds = 1_800;
/** Longest time between two polls. */
export const longestPollSeconds = 60;
const usualPollSeconds = 5;
const longestHandle = 16_384;
const longestUrl = 2_048;

/** Returns the URL of polls. */
export function devicePollUrl(deviceUrl: string): string {
  return `${deviceUrl}/poll`;
}

/** Reads the first request; the answer key still has to be tried (`isAnswerKey`). Throws `WireError` that says what would be right. */
export function decodeDeviceLoginRequest(value: unknown): DeviceLoginRequest {
  const root = record(value, "body");
  const { clusterKey } = root;
  if (!isPublicKey(clusterKey))
    throw new WireError("clusterKey", "is not an Ed25519 public key in base64url");
  return {
    sessionId: idAt(root, "sessionId"),
    clusterId: idAt(root, "clusterId"),
    clusterName: displayName(root["clusterName"]),
    answerKey: boundedText(root, "answerKey", 64),
    clusterKey,
    wish: wishOf(text(root["wish"], "wish")),
  };
}

/** Reads a poll; gives back its handle. Throws `WireError`. */
export function decodeDevicePollRequest(value: unknown): string {
  return boundedText(record(value, "body"), "handle", longestHandle);
}

/** Reads the backend's answer to the first request. Throws `WireError`. */
export function decodeDeviceLoginStart(value: unknown): DeviceLoginStart {
  const root = record(value, "answer");
  return { ...decodeDeviceCode(root), handle: boundedText(root, "handle", longestHandle) };
}

/** Reads the body of a backend's answer to a poll, 200 or 202. Throws `WireError`. */
export function decodeDevicePoll(status: 200 | 202, value: unknown): DevicePoll {
  const root = record(value, "answer");
  if (status === 200) return { kind: "offered", offer: text(root["offer"], "offer") };
  const handle = boundedText(root, "handle", longestHandle);
  return { kind: "pending", interval: pollSeconds(root["interval"]), handle };
}

/**
 * Reads what an identity provider says for a person, and what a backend passes on of it. Times are cut to their limits, and nothing that could
 * steer a terminal or is not a plain address goes through. Throws `WireError`.
 */
export function decodeDeviceCode(root: Readonly<Record<string, unknown>>): DeviceCode {
  const userCode = text(root["userCode"], "userCode");
  if (!/^[\x21-\x7e]{1,64}$/.test(userCode))
    throw new WireError(
      "userCode",
      `is ${shown(userCode)}; it must have 1 to 64 printable characters of ASCII`,
    );
  const verificationUri = text(root["verificationUri"], "verificationUri");
  if (!isPlainAddress(verificationUri))
    throw new WireError(
      "verificationUri",
      `is ${shown(verificationUri)}; it must be an https address, or http on this machine, without a user name`,
    );
  const complete = root["verificationUriComplete"];
  const isSameServer =
    isPlainAddress(complete) && new URL(complete).origin === new URL(verificationUri).origin;
  return {
    userCode,
    verificationUri,
    ...(isSameServer ? { verificationUriComplete: complete } : {}),
    expiresIn: expirySeconds(root["expiresIn"]),
    interval: pollSeconds(root["interval"]),
  };
}

function expirySeconds(value: unknown): number {
  if (typeof value !== "number" || !(value >= 1))
    throw new WireError("expiresIn", `is ${shownNumber(value)}; it must be a number of seconds, 1 or more`);
  return Math.min(longestDeviceLoginSeconds, Math.floor(value));
}

function pollSeconds(value: unknown): number {
  if (value === undefined) return usualPollSeconds;
  if (typeof value !== "number" || Number.isNaN(value))
    throw new WireError("interval", `is ${shownNumber(value)}; it must be a number of seconds`);
  return Math.min(longestPollSeconds, Math.max(1, Math.ceil(value)));
}

function isPlainAddress(value: unknown): value is string {
  if (typeof value !== "string" || value.length > longestUrl) return false;
  if (!/^[\x21-\x7e]+$/.test(value) || !URL.canParse(value)) return false;
  const { protocol, hostname, username, password } = new URL(value);
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
  return (protocol === "https:" || (protocol === "http:" && isLocal)) && username === "" && password === "";
}

function wishOf(value: string): LoginWish {
  const wish = readWishOf(value);
  if (wish.kind !== "none") return wish;
  throw new WireError(
    "wish",
    "names no API; it must be all, service=<service> or apis=<name>,<name>, because a login on another device has no page to choose on",
  );
}

function readWishOf(value: string): LoginWish {
  try {
    return readWish(value);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw new WireError("wish", error.message.replace(/^m: /, ""));
  }
}

function idAt(root: Readonly<Record<string, unknown>>, name: string): string {
  const value = text(root[name], name);
  if (/^[\w-]{1,64}$/.test(value)) return value;
  throw new WireError(name, `is ${shown(value)}; it must have 1 to 64 letters, digits, _ and -`);
}

function boundedText(root: Readonly<Record<string, unknown>>, name: string, longest: number): string {
  const value = text(root[name], name);
  if (value.length > longest) throw new WireError(name, `is longer than ${longest} characters`);
  return value;
}

/** Shows NaN and infinity too, which JSON does not have. */
function shownNumber(value: unknown): string {
  return shown(typeof value === "number" ? String(value) : (JSON.stringify(value) ?? "missing"));
}

function shown(value: string): string {
  return JSON.stringify(plainText(value, 80));
}
