/** Headers of the console: scripts and styles of this server only. */
import type { Context, MiddlewareHandler } from "hono";
import { randomToken } from "../sealed-cookie.ts";

const nonces = new WeakMap<Request, string>();

/** Returns the nonce of the styles that the page's own scripts add in this answer. */
export function nonceOf(context: Context): string {
  const known = nonces.get(context.req.raw) ?? randomToken();
  nonces.set(context.req.raw, known);
  return known;
}

/** Replaces the policy of the other pages, which have no scripts. */
export function consoleHeaders(): MiddlewareHandler {
  return async (context, next) => {
    await next();
    const policy = [
      "default-src 'none'",
      "script-src 'self'",
      `style-src 'self' 'nonce-${nonceOf(context)}'`,
      "connect-src 'self'",
      "img-src 'self' data:",
      "font-src 'self'",
      "form-action 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ];
    context.header("Content-Security-Policy", policy.join("; "));
    context.header("X-Content-Type-Options", "nosniff");
  };
}
