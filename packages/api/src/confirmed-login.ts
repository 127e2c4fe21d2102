/** Words on the wire of a login that the plugin confirms without the browser: see designs/0020. */
import { type AnswerKey, sealAnswer } from "./sealed-answer.ts";
import { type BindingResponse, readBindingResponse } from "./wire.ts";
import { record, text, WireError } from "./wire-fields.ts";

/** Relation of the person who logged in to the tenant that a confirmation leads to. */
export type TenantRelation = "founds" | "joins" | "member";

/** The backend's answer to a login, sealed for the plugin: the person who logged in, and the tenant that a confirmation leads to. */
export interface LoginOffer {
  readonly sessionId: string;
  readonly issuer: string;
  readonly subject: string;
  /** Name of the person, which proves nothing. */
  readonly displayName?: string | undefined;
  /** E-mail address that the identity provider calls verified. */
  readonly verifiedEmail?: string | undefined;
  readonly tenant: { readonly name: string; readonly relation: TenantRelation };
  /** Counts once. */
  readonly nonce: string;
  /** The login, sealed by the backend for itself. */
  readonly ticket: string;
}

/** Second request of the plugin, to the confirmation URL. */
export interface LoginConfirmation {
  readonly ticket: string;
  /** Challenge that the backend issued at most a minute before. */
  readonly challenge: string;
  /** Signature of `confirmationText` with the app cluster's key, base64url. */
  readonly signature: string;
}

/** Everything that a confirmation is about. */
export interface ConfirmedLogin {
  /** The confirmation URL as the plugin uses it, so that no other server can pass the signature on. */
  readonly url: string;
  readonly challenge: string;
  readonly sessionId: string;
  readonly clusterId: string;
  readonly redirectUrl: string;
  readonly answerKey: string;
  readonly issuer: string;
  readonly subject: string;
  readonly nonce: string;
}

/** Returns the text to sign. Issuer and subject are in base64url, because both may hold any character. */
export function confirmationText(login: ConfirmedLogin): string {
  const { url, challenge, sessionId, clusterId, redirectUrl, answerKey, issuer, subject, nonce } = login;
  const [by, who] = [issuer, subject].map((part) => Buffer.from(part).toString("base64url"));
  const fields = [url, challenge, sessionId, clusterId, redirectUrl, answerKey, by, who, nonce];
  return ["klutch.anynines.com/login/v2", ...fields].join("\n");
}

/** Returns the URL at which a backend issues challenges for confirmations. */
export function confirmChallengeUrl(confirmUrl: string): string {
  return new URL("renew/challenge", confirmUrl).href;
}

/** Seals an offer for the plugin. Rejects with `WireError` for a key that is none. */
export function sealOffer(answerKey: string, offer: LoginOffer): Promise<string> {
  return sealAnswer(answerKey, "klutch-login-offer", offer);
}

/** Opens an offer. Rejects with `WireError`. */
export async function openOffer(key: AnswerKey, sealed: string): Promise<LoginOffer> {
  const root = record(await key.open(sealed, "klutch-login-offer"), "offer");
  const tenant = record(root["tenant"], "offer.tenant");
  const relation = text(tenant["relation"], "offer.tenant.relation");
  if (relation !== "founds" && relation !== "joins" && relation !== "member")
    throw new WireError("offer.tenant.relation", "is not known");
  const { displayName, verifiedEmail } = root;
  return {
    sessionId: text(root["sessionId"], "offer.sessionId"),
    issuer: text(root["issuer"], "offer.issuer"),
    subject: text(root["subject"], "offer.subject"),
    displayName: typeof displayName === "string" && displayName !== "" ? displayName : undefined,
    verifiedEmail: typeof verifiedEmail === "string" && verifiedEmail !== "" ? verifiedEmail : undefined,
    tenant: { name: text(tenant["name"], "offer.tenant.name"), relation },
    nonce: text(root["nonce"], "offer.nonce"),
    ticket: text(root["ticket"], "offer.ticket"),
  };
}

/** Seals the answer to a confirmation. Rejects with `WireError` for a key that is none. */
export function sealBinding(answerKey: string, response: BindingResponse): Promise<string> {
  return sealAnswer(answerKey, "klutch-binding", response);
}

/** Opens the answer to a confirmation. Rejects with `WireError`. */
export async function openBinding(key: AnswerKey, sealed: string): Promise<BindingResponse> {
  return readBindingResponse(await key.open(sealed, "klutch-binding"));
}

/** Throws `WireError` for anything else than a well-formed request. */
export function decodeLoginConfirmation(value: unknown): LoginConfirmation {
  const root = record(value, "confirmation");
  const bounded = (name: string, longest: number): string => {
    const found = text(root[name], name);
    if (found.length > longest) throw new WireError(name, `is longer than ${longest} characters`);
    return found;
  };
  return {
    ticket: bounded("ticket", 16_384),
    challenge: bounded("challenge", 2_048),
    signature: bounded("signature", 128),
  };
}

/** Resolves to true for an X25519 key to which an answer can be sealed. */
export async function isAnswerKey(value: string): Promise<boolean> {
  try {
    await sealAnswer(value, "klutch-binding", null);
    return true;
  } catch (error) {
    if (error instanceof WireError) return false;
    throw error;
  }
}
