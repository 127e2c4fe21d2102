/** Headers that keep the pages from being framed, sniffed, or fed with foreign content. */
import type { MiddlewareHandler } from "hono";
import { secureHeaders } from "hono/secure-headers";

/**
 * A strict policy without scripts. Forms may go to this server and on to the plugin on this machine: browsers apply `form-action` to
 * the redirect that answers a form, too.
 */
export function securityHeaders(): MiddlewareHandler {
  return secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: ["'none'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'"],
      formAction: ["'self'", "http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"],
      frameAncestors: ["'none'"],
      baseUri: ["'none'"],
    },
    referrerPolicy: "no-referrer",
    xFrameOptions: "DENY",
    crossOriginOpenerPolicy: "same-origin",
    strictTransportSecurity: false,
  });
}
