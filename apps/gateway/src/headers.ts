/** Decides which headers of a request reach the API server, and which are no request of an agent. */
import { badRequest, type Failure, unauthorized } from "./status.ts";

/** Headers of one connection (RFC 9110, 7.6.1), and those that the transport writes itself. */
const ownOfConnection: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
  "host",
  "content-length",
  "expect",
]);
/** Words about who asks, which only proxies that the API server trusts may say. */
const claimsOfProxies = /^(x-remote-|x-forwarded-|forwarded$|x-real-ip$|via$)/;

/** Headers that go on, or a refusal. */
export type JudgedHeaders =
  | {
      readonly refusal?: undefined;
      readonly authorization: string;
      readonly accept: string | undefined;
      /** In lower case, `authorization` included. */
      readonly forwarded: Readonly<Record<string, string>>;
    }
  | { readonly refusal: Failure };

/** Judges the headers as they came: names and values in turn. */
export function judgeHeaders(raw: readonly string[]): JudgedHeaders {
  const forwarded: Record<string, string> = {};
  let authorizations = 0;
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const [name, value] = [(raw[index] ?? "").toLowerCase(), raw[index + 1] ?? ""];
    if (name.startsWith(":")) continue;
    if (name.startsWith("impersonate-")) return refused(403, `${name} is not allowed through the gateway`);
    if (name === "upgrade") return refused(400, "upgraded connections are not possible through the gateway");
    if (name === "connection" && !isPlain(value))
      return refused(400, "the header Connection may only say keep-alive or close");
    if (name === "authorization") authorizations++;
    if (ownOfConnection.has(name) || claimsOfProxies.test(name)) continue;
    forwarded[name] = Object.hasOwn(forwarded, name) ? `${forwarded[name]}, ${value}` : value;
  }
  if (authorizations > 1) return refused(400, "the header Authorization must stand once");
  const { authorization, accept } = forwarded;
  if (authorization === undefined || !/^Bearer [A-Za-z0-9\-._~+/]+=*$/.test(authorization))
    return { refusal: unauthorized };
  return { authorization, accept, forwarded };
}

function isPlain(value: string): boolean {
  return value.split(",").every((token) => /^(keep-alive|close|te)$/i.test(token.trim()));
}

function refused(code: 400 | 403, message: string): JudgedHeaders {
  return { refusal: code === 403 ? { code, reason: "Forbidden", message } : badRequest(message) };
}

/** Returns the headers of an answer that the client gets. */
export function answeredHeaders(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Readonly<Record<string, string | string[]>> {
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers))
    if (
      value !== undefined &&
      !name.startsWith(":") &&
      (name === "content-length" || !ownOfConnection.has(name))
    )
      kept[name] = typeof value === "string" ? value : [...value];
  return kept;
}
