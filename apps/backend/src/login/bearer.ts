/** Reads the bearer credential of a request (RFC 6750 §2.1). */
import type { Context } from "hono";

const bearer = /^bearer +(?<token>[\w~+/.-]+=*) *$/i;

/** Returns it; undefined if the request has none that is well-formed. */
export function bearerOf(context: Context): string | undefined {
  return bearer.exec(context.req.header("authorization") ?? "")?.groups?.["token"];
}
