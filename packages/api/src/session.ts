/**
 * Words on the wire of a session: a bearer credential of a person, by which scripts list and bind APIs without a further login. It comes to
 * `klutch login` like the credential of a confirmed login, sealed for its key, and it is in no URL. See docs/reference/login.md.
 */
import { isPublicKey } from "./cluster-key.ts";
import { decimalPattern } from "./decimal.ts";
import type { ClusterProof } from "./renewal.ts";
import { type AnswerKey, sealAnswer } from "./sealed-answer.ts";
import { array, record, text, WireError } from "./wire-fields.ts";

/** Begins every session, so that no one takes an access token for one, and scanners for secrets find it. */
export const sessionPrefix = "klutch-session.";

/** Value of the parameter `t` of /authorize for a login that leads to a session. */
export const sessionLogin = "session";

/** A person as the backend vouches for them. Names are for people; `subject` and `issuer` count. */
export interface SessionPerson {
  readonly issuer: string;
  readonly subject: string;
  /** Name in the control plane's RBAC; undefined where everyone may bind everything. */
  readonly user?: string | undefined;
  readonly displayName?: string | undefined;
  /** E-mail address that the identity provider calls verified. */
  readonly verifiedEmail?: string | undefined;
}

/** The backend's answer to a login, sealed for the plugin. */
export interface SessionOffer extends SessionPerson {
  /** Id of the plugin's login. */
  readonly loginId: string;
  /** The login, sealed by the backend for itself; brings the session at `POST /session`, the same one each time. */
  readonly ticket: string;
}

/** A session, sealed for the plugin. */
export interface IssuedSession extends SessionPerson {
  readonly loginId: string;
  /** Id of the session, which is no secret. */
  readonly id: string;
  /** The bearer credential. */
  readonly session: string;
  /** When it ends, RFC 3339. */
  readonly endsAt: string;
}

/** First request of a plugin whose person logs in on another device. */
export interface SessionDeviceRequest {
  readonly loginId: string;
  readonly answerKey: string;
}

/** An API as a person with a session sees it. */
export interface SessionTemplate {
  readonly group: string;
  readonly resource: string;
  readonly kind: string | undefined;
  readonly description: string | undefined;
  /** Services that have the API, by the names that `--service` takes. */
  readonly services: readonly string[];
  /** Fields of the spec, such as the plan, as the provider describes them. */
  readonly fields: readonly { readonly name: string; readonly about: string }[];
  /** Prices of its plans for a month of 730 hours; empty from a provider that shows none. */
  readonly prices: readonly SessionPrice[];
  readonly state: "Available" | "Unavailable";
  /** Reason of `Unavailable`, for people. */
  readonly reason: string | undefined;
}

/** The price of a plan. */
export interface SessionPrice {
  readonly plan: string;
  /** The services with this price; empty if all have it. */
  readonly services: readonly string[];
  /** Decimal text with two digits, and a code of ISO 4217. */
  readonly perMonth: {
    readonly amount: string;
    readonly currency: string;
    /** Decimal text: a GiB of backups for a month. Absent if backups cost nothing. */
    readonly backupGiB?: string;
  };
}

/** Answer to `GET /api/templates`. */
export interface SessionTemplates {
  readonly templates: readonly SessionTemplate[];
  /** When the session ends, RFC 3339. */
  readonly endsAt: string;
}

const longestTicket = 16_384;
/** Longest session, with its prefix: it is a header of a request. */
const longestSession = 8_192;

/** Returns the URLs of a backend with sessions. `sessionUrl` is the one that its description names. */
export function sessionUrls(sessionUrl: string): {
  readonly device: string;
  readonly logout: string;
  readonly templates: string;
  readonly bind: string;
  readonly challenge: string;
} {
  const beside = (path: string): string => new URL(path, sessionUrl).href;
  return {
    device: `${sessionUrl}/device`,
    logout: beside("logout"),
    templates: beside("api/templates"),
    bind: beside("bind-noninteractive"),
    challenge: beside("renew/challenge"),
  };
}

/** Returns true for a text that could be a session. */
export function isSessionText(value: string): boolean {
  return value.length <= longestSession && /^klutch-session\.[\w-]+(\.[\w-]*){4}$/.test(value);
}

/** Seals an offer for the plugin. Rejects with `WireError` for a key that is none. */
export function sealSessionOffer(answerKey: string, offer: SessionOffer): Promise<string> {
  return sealAnswer(answerKey, "klutch-session-offer", offer);
}

/** Opens an offer. Rejects with `WireError`. */
export async function openSessionOffer(key: AnswerKey, sealed: string): Promise<SessionOffer> {
  const root = record(await key.open(sealed, "klutch-session-offer"), "offer");
  return {
    ...personOf(root, "offer"),
    loginId: text(root["loginId"], "offer.loginId"),
    ticket: bounded(root, "ticket", longestTicket),
  };
}

/** Seals a session for the plugin. Rejects with `WireError` for a key that is none. */
export function sealSession(answerKey: string, session: IssuedSession): Promise<string> {
  return sealAnswer(answerKey, "klutch-session", session);
}

/** Opens a session. Rejects with `WireError`. */
export async function openSession(key: AnswerKey, sealed: string): Promise<IssuedSession> {
  const root = record(await key.open(sealed, "klutch-session"), "session");
  return { ...personOf(root, "session"), loginId: text(root["loginId"], "session.loginId"), ...heldOf(root) };
}

/** Reads the fields by which a session is kept. Throws `WireError`. */
export function heldOf(
  root: Readonly<Record<string, unknown>>,
): Pick<IssuedSession, "id" | "session" | "endsAt"> {
  const session = text(root["session"], "session");
  if (!isSessionText(session))
    throw new WireError("session", `is no session, which begins with ${sessionPrefix}`);
  const id = text(root["id"], "id");
  if (!/^[\w-]{1,64}$/.test(id)) throw new WireError("id", "must be 1 to 64 letters, digits, _ and -");
  return { id, session, endsAt: timeAt(root, "endsAt") };
}

/** Reads the person of a session. Throws `WireError`. */
export function personOf(root: Readonly<Record<string, unknown>>, field: string): SessionPerson {
  return {
    issuer: text(root["issuer"], `${field}.issuer`),
    subject: text(root["subject"], `${field}.subject`),
    user: optional(root, "user"),
    displayName: optional(root, "displayName"),
    verifiedEmail: optional(root, "verifiedEmail"),
  };
}

/** Reads the body of `POST /session`; gives back its ticket. Throws `WireError`. */
export function decodeSessionRequest(value: unknown): string {
  return bounded(record(value, "body"), "ticket", longestTicket);
}

/** Reads the first request of a login on another device; the answer key still has to be tried. Throws `WireError`. */
export function decodeSessionDeviceRequest(value: unknown): SessionDeviceRequest {
  const root = record(value, "body");
  const loginId = text(root["loginId"], "loginId");
  if (!/^[\w-]{1,64}$/.test(loginId))
    throw new WireError("loginId", "must be 1 to 64 letters, digits, _ and -");
  return { loginId, answerKey: bounded(root, "answerKey", 64) };
}

/** Reads the proof that the person of a session holds the app cluster; undefined if the body has none. Throws `WireError`. */
export function decodeClusterProof({ proof }: Readonly<Record<string, unknown>>): ClusterProof | undefined {
  if (proof === undefined) return undefined;
  const root = record(proof, "proof");
  const { publicKey } = root;
  if (!isPublicKey(publicKey))
    throw new WireError("proof.publicKey", "is not an Ed25519 public key in base64url");
  return {
    publicKey,
    challenge: bounded(root, "challenge", 2_048),
    signature: bounded(root, "signature", 128),
  };
}

/** Reads the answer to `GET /api/templates`. Throws `WireError`. */
export function decodeSessionTemplates(value: unknown): SessionTemplates {
  const root = record(value, "answer");
  const templates = array(root["items"], "items").map((item, index) => templateOf(item, `items[${index}]`));
  return { templates, endsAt: timeAt(root, "endsAt") };
}

function templateOf(value: unknown, field: string): SessionTemplate {
  const root = record(value, field);
  const state = root["state"];
  if (state !== "Available" && state !== "Unavailable")
    throw new WireError(`${field}.state`, "must be Available or Unavailable");
  const texts = (name: string): readonly string[] =>
    array(root[name] ?? [], `${field}.${name}`).map((one, at) => text(one, `${field}.${name}[${at}]`));
  return {
    group: typeof root["group"] === "string" ? root["group"] : "",
    resource: text(root["resource"], `${field}.resource`),
    kind: optional(root, "kind"),
    description: optional(root, "description"),
    services: texts("services"),
    fields: array(root["fields"] ?? [], `${field}.fields`).map((one, at) => {
      const entry = record(one, `${field}.fields[${at}]`);
      return {
        name: text(entry["name"], `${field}.fields[${at}].name`),
        about: optional(entry, "about") ?? "",
      };
    }),
    prices: array(root["prices"] ?? [], `${field}.prices`).map((one, at) =>
      priceOf(one, `${field}.prices[${at}]`),
    ),
    state,
    reason: optional(root, "reason"),
  };
}

const decimal = new RegExp(decimalPattern);

function priceOf(value: unknown, field: string): SessionPrice {
  const root = record(value, field);
  const money = record(root["perMonth"], `${field}.perMonth`);
  const amount = text(money["amount"], `${field}.perMonth.amount`);
  const currency = text(money["currency"], `${field}.perMonth.currency`);
  if (!/^\d{1,15}\.\d\d$/.test(amount))
    throw new WireError(`${field}.perMonth.amount`, "is no amount, such as 25.00");
  if (!/^[A-Z]{3}$/.test(currency))
    throw new WireError(`${field}.perMonth.currency`, "is no code of ISO 4217, such as EUR");
  const backupGiB = optional(money, "backupGiB");
  if (backupGiB !== undefined && !decimal.test(backupGiB))
    throw new WireError(`${field}.perMonth.backupGiB`, "is no amount, such as 0.02");
  const services = array(root["services"] ?? [], `${field}.services`);
  return {
    plan: text(root["plan"], `${field}.plan`),
    services: services.map((one, at) => text(one, `${field}.services[${at}]`)),
    perMonth: { amount, currency, ...(backupGiB !== undefined && { backupGiB }) },
  };
}

function timeAt(root: Readonly<Record<string, unknown>>, name: string): string {
  const value = text(root[name], name);
  if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) && !Number.isNaN(Date.parse(value))) return value;
  throw new WireError(name, "is not a time in UTC, such as 2026-11-28T14:05:00Z");
}

function optional(root: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = root[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function bounded(root: Readonly<Record<string, unknown>>, name: string, longest: number): string {
  const value = text(root[name], name);
  if (value.length > longest) throw new WireError(name, `is longer than ${longest} characters`);
  return value;
}
