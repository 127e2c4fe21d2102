/**
 * Access tokens of programs, by client credentials (RFC 6749 §4.4, RFC 9068), of the same issuer as people's logins. Cognito and Keycloak agree on
 * little: one names no audience, the other calls the client `azp`. An ID token of the same issuer must never pass.
 */
import { displayName } from "@klutch/api";
import { plainText } from "@klutch/kube-core";
import type { Clock } from "@klutch/kube";
import { errors, type JWTPayload, type JWTVerifyResult } from "jose";
import { clientUserOf, namesBy, type UserRules } from "../authorization/user-claims.ts";
import type { Person } from "../identity.ts";
import { createKeySet } from "./key-set.ts";

/** Programs that may bind without a browser. */
export interface CiRules {
  /** Client ids. */
  readonly clients: readonly string[];
  /** Scope that a token must have; also understood with `:<UUID of a tenant>` behind it. */
  readonly scope: string;
  /** Audiences that count besides the backend's own client id. */
  readonly audiences: readonly string[];
}

/** A program, as a person that binds. */
export interface ClientPerson extends Person {
  readonly client: string;
}

/** Verifies one issuer's tokens. Rejects with a `JOSEError`, which names the claim and never the token. */
export type AccessTokenVerifier = (token: string) => Promise<ClientPerson>;

/** Types that the header of an access token may have (RFC 9068 §4); older issuers write `JWT`, or none. */
const headerTypes: readonly string[] = ["jwt", "at+jwt", "application/at+jwt"];
/** Claims of an ID token, and of the access token that a person gets at Cognito. Its tokens of programs have `auth_time`, too. */
const claimsOfPeople = ["nonce", "at_hash", "c_hash", "username"] as const;
const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/**
 * Creates the verifier. It fetches keys for itself: strangers may send tokens with unknown keys, and must not use up what lets a person's login
 * follow a new key.
 */
export function createAccessTokenVerifier(options: {
  readonly issuer: string;
  readonly clientId: string;
  readonly rules: CiRules;
  readonly keySetUrl: URL;
  readonly keyCooldownMs: number;
  readonly clock: Clock;
  /** Without them the program has no name in RBAC. */
  readonly userRules?: UserRules | undefined;
}): AccessTokenVerifier {
  const { issuer, clientId, rules, userRules } = options;
  const verify = createKeySet(options);
  return async (token) => {
    const verified = await verify(token, {
      algorithms: ["RS256", "ES256"],
      issuer,
      requiredClaims: ["exp"],
      clockTolerance: 30,
    });
    const { payload } = verified;
    requireAccessToken(verified);
    requireScope(payload, rules.scope);
    const client = clientOf(payload, rules.clients);
    requireAudience(payload, [clientId, ...rules.audiences]);
    return {
      issuer,
      subject: `client:${client}`,
      client,
      displayName: displayName(`client:${client}`),
      ...namesBy(userRules, (user) => clientUserOf(payload, client, user)),
    };
  };
}

function requireAccessToken({ payload, protectedHeader }: JWTVerifyResult<JWTPayload>): void {
  const { typ } = protectedHeader;
  if (typ !== undefined && !headerTypes.includes(typ.toLowerCase()))
    throw wrong(payload, "typ", `in the header is ${said(typ)}, not at+jwt or JWT`);
  const { token_use: use, typ: kind } = payload;
  if (use !== undefined && use !== "access") throw wrong(payload, "token_use", `is ${said(use)}, not access`);
  // Keycloak's ID tokens have ID here, and its access tokens Bearer.
  if (kind !== undefined && (typeof kind !== "string" || kind.toLowerCase() !== "bearer"))
    throw wrong(payload, "typ", `is ${said(kind)}, not Bearer: it is no access token`);
  for (const claim of claimsOfPeople)
    if (payload[claim] !== undefined)
      throw wrong(payload, claim, "is there: it is no token of client credentials");
}

function requireScope(payload: JWTPayload, wanted: string): void {
  const { scope } = payload;
  const scopes = typeof scope === "string" ? scope.split(" ") : [];
  const isWanted = (one: string): boolean =>
    one === wanted || (one.startsWith(`${wanted}:`) && uuid.test(one.slice(wanted.length + 1)));
  if (!scopes.some(isWanted)) throw wrong(payload, "scope", `is ${said(scope)}, without ${wanted}`);
}

/** Several claims may name the client; if they differ, the token is refused. */
function clientOf(payload: JWTPayload, allowed: readonly string[]): string {
  const names = ["client_id", "clientid", "azp"].flatMap((claim) => {
    const value = payload[claim];
    if (value !== undefined && typeof value !== "string") throw wrong(payload, claim, "is not a text");
    return value === undefined ? [] : [value];
  });
  const [client] = names;
  if (client === undefined)
    throw wrong(payload, "client_id", "is missing, and so are clientid and azp: it names no client");
  if (names.some((name) => name !== client))
    throw wrong(payload, "client_id", `is ${said(client)}, and another claim names another client`);
  if (!allowed.includes(client))
    throw wrong(payload, "client_id", `is ${said(client)}, which is not among the clients of --ci-clients`);
  return client;
}

/** Cognito's tokens have none; a token with one is for those that it names. */
function requireAudience(payload: JWTPayload, accepted: readonly string[]): void {
  const { aud } = payload;
  if (aud === undefined) return;
  if (![aud].flat().some((one) => accepted.includes(one)))
    throw wrong(payload, "aud", `is ${said(aud)}, which does not name this backend (${accepted.join(", ")})`);
}

function wrong(payload: JWTPayload, claim: string, what: string): errors.JWTClaimValidationFailed {
  return new errors.JWTClaimValidationFailed(`"${claim}" ${what}`, payload, claim, "invalid");
}

/** Shortens what the token says to one line. */
function said(value: unknown): string {
  return value === undefined ? "missing" : plainText(JSON.stringify(value), 200);
}
