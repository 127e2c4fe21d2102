/** Access tokens by OAuth client credentials (RFC 6749 §4.4), kept until shortly before they end. */
import { type HttpResponse, parsedJson, type TlsSettings } from "@klutch/http-client";
import { OsbTransportError } from "./errors.ts";
import { basicHeader, isHeaderToken } from "./header-value.ts";
import { createNamedClient, type NamedClient } from "./http.ts";
import { isObject, objectOf } from "./json.ts";

/** OAuth 2.0 client credentials (RFC 6749 §4.4). */
export interface OAuthConfig {
  readonly kind: "oauth";
  /** https; http only for this machine itself. */
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope?: string | undefined;
  /** Some servers want it; sent as `audience`. */
  readonly audience?: string | undefined;
  /** Location of the client's id and secret. Default `header`, which every server must understand. */
  readonly clientAuthentication?: "header" | "body" | undefined;
  /** TLS settings of the token endpoint; the broker's settings do not apply to it. */
  readonly tls?: TlsSettings | undefined;
}

/** Dependencies of the token source. */
export interface TokenOptions {
  /** Monotonic, in milliseconds. */
  readonly now: () => number;
  readonly timeoutMs: number;
}

/** Fetches one token at a time; concurrent callers share the fetch. */
export interface TokenSource extends AsyncDisposable {
  /** Throws `OsbTransportError` `Login`, or the reason of `signal`; the fetch goes on for the other callers. */
  get(signal: AbortSignal | undefined): Promise<string>;
  /** The client's secret and the tokens that may still be seen. */
  secrets(): readonly string[];
  /** Makes the next `get` fetch a token, unless that happened since this token was given out. Returns true if another one will follow. */
  forget(token: string): boolean;
}

/** Answer of the token endpoint. */
interface Grant {
  readonly token: string;
  readonly lifetimeMs: number;
}

/** Lifetime of a token if the server does not name it. */
const defaultLifetimeMs = 5 * 60_000;
/** The longest that one is kept, whatever the server says. */
const longestLifetimeMs = 24 * 3_600_000;
/** Margin before the end of a token: requests need time, and clocks differ. */
const marginMs = 30_000;
/** Number of former tokens to keep out of texts: a broker may still answer requests that used them. */
const rememberedTokens = 3;
/** Error codes of RFC 6749 §5.2: the only words of the token endpoint that reach a person. Others could repeat what we sent. */
const knownErrors = new Set([
  "invalid_request",
  "invalid_client",
  "invalid_grant",
  "unauthorized_client",
  "unsupported_grant_type",
  "invalid_scope",
]);
const action = "the request for an access token";

export function createTokenSource(config: OAuthConfig, options: TokenOptions): TokenSource {
  const url = checkedUrl(config.tokenUrl);
  const http = createNamedClient("the token endpoint", { timeoutMs: options.timeoutMs, tls: config.tls });
  let kept: { readonly token: string; readonly until: number } | undefined;
  let given: readonly string[] = [];
  let running: Promise<string> | undefined;
  const fetchToken = async (): Promise<string> => {
    const askedAt = options.now();
    const { token, lifetimeMs } = await requestToken(http, url, config);
    given = [token, ...given].slice(0, rememberedTokens);
    kept = { token, until: askedAt + lifetimeMs - Math.min(marginMs, lifetimeMs / 10) };
    return token;
  };
  return {
    async get(signal) {
      signal?.throwIfAborted();
      if (kept !== undefined && options.now() < kept.until) return kept.token;
      running ??= fetchToken().finally(() => {
        running = undefined;
      });
      return await unlessAborted(running, signal);
    },
    forget(token) {
      if (kept?.token === token) kept = undefined;
      return true;
    },
    secrets: () => [config.clientSecret, formEncoded(config.clientSecret), ...given],
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}

async function requestToken(http: NamedClient, url: string, config: OAuthConfig): Promise<Grant> {
  const { clientId, clientSecret, scope, audience } = config;
  const inBody = config.clientAuthentication === "body";
  const form = new URLSearchParams({ grant_type: "client_credentials" });
  if (scope !== undefined) form.set("scope", scope);
  if (audience !== undefined) form.set("audience", audience);
  if (inBody) {
    form.set("client_id", clientId);
    form.set("client_secret", clientSecret);
  }
  // RFC 6749 §2.3.1: both are form-encoded before they become a basic header.
  const header = { authorization: basicHeader(formEncoded(clientId), formEncoded(clientSecret)) };
  const headers = {
    accept: "application/json",
    "content-type": "application/x-www-form-urlencoded",
    ...(inBody ? {} : header),
  };
  let response: HttpResponse;
  try {
    response = await http.send({ method: "POST", url, headers, body: form.toString(), action });
  } catch (error) {
    if (!(error instanceof OsbTransportError)) throw error;
    // Whatever came of it, the broker was not asked.
    throw new OsbTransportError("Login", error.message);
  }
  return decodeGrant(response);
}

/** Throws `OsbTransportError` `Login` without anything that the endpoint said but an error code of the standard. */
export function decodeGrant({ status, text }: Pick<HttpResponse, "status" | "text">): Grant {
  const body = parsedJson(text);
  if (status !== 200) {
    const { error } = objectOf(body);
    const known = typeof error === "string" && knownErrors.has(error) ? ` (${error})` : "";
    throw failure(`answered ${action} with HTTP ${status}${known}`);
  }
  if (!isObject(body)) throw failure(`answered ${action} with something that is not a JSON object`);
  const { access_token: token, token_type: type, expires_in: seconds } = body;
  if (typeof token !== "string" || !isHeaderToken(token))
    throw failure("gave no access_token that a header can carry");
  if (typeof type !== "string" || type.toLowerCase() !== "bearer")
    throw failure("gave an access token of another type than Bearer");
  return { token, lifetimeMs: lifetimeOf(seconds) };
}

/** Reads a number that some servers send as text. Anything but a positive number counts as absent. */
function lifetimeOf(value: unknown): number {
  const seconds = typeof value === "string" && value !== "" ? Number(value) : value;
  if (typeof seconds !== "number" || !(seconds > 0)) return defaultLifetimeMs;
  return Math.min(seconds * 1000, longestLifetimeMs);
}

function checkedUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null) throw new OsbTransportError("NotSent", "the token URL is not a URL");
  const isLocal = ["127.0.0.1", "[::1]", "localhost"].includes(url.hostname);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLocal))
    throw new OsbTransportError("NotSent", "the token URL is not https: the client secret would be readable");
  if (url.username !== "" || url.password !== "")
    throw new OsbTransportError(
      "NotSent",
      "the token URL has credentials; give them as clientId and clientSecret",
    );
  return url.href;
}

function formEncoded(text: string): string {
  return new URLSearchParams({ x: text }).toString().slice(2);
}

/** The promise, or the reason of the signal when that comes first. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await promise;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

function failure(what: string): OsbTransportError {
  return new OsbTransportError("Login", `the token endpoint ${what}`);
}
