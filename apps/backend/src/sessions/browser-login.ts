/**
 * The login in a browser that leads to a session. It has sealers and a cookie of its own, so that a replica of an earlier release, which would
 * take it for a login that binds, refuses it. The browser brings the sealed offer to a server on the person's own machine and nowhere else.
 */
import { getCookie, deleteCookie, setCookie } from "hono/cookie";
import type { Clock } from "@klutch/kube";
import { UserError } from "../errors.ts";
import type { SessionLogins } from "../login/app.ts";
import type { IdentityProvider } from "../login/identity-provider.ts";
import { redirectUrlOf } from "../login/redirect.ts";
import { createUsedOnce } from "../login/used-once.ts";
import type { Sealer } from "../sealed-cookie.ts";
import { checkedLogin, type Sessions } from "./sessions.ts";

/** Parts of the login. */
export interface BrowserLoginParts {
  readonly identityProvider: Pick<IdentityProvider, "begin" | "finish">;
  readonly sessions: Pick<Sessions, "offer">;
  readonly sealer: Sealer;
  /** True if browsers reach the backend over TLS; then the cookie is Secure. */
  readonly secure: boolean;
  readonly clock: Clock;
}

const loginSeconds = 600;
const rememberedLogins = 10_000;
const again = "Start again with klutch login.";

/** Creates it for one replica. */
export function createBrowserLogin(parts: BrowserLoginParts): SessionLogins {
  const { identityProvider, sessions, sealer, secure, clock } = parts;
  const finished = createUsedOnce({ clock, lifetimeMs: loginSeconds * 1000, capacity: rememberedLogins });
  const name = secure ? "__Host-klutch-session-login" : "klutch-session-login";
  const cookie = { path: "/", httpOnly: true, secure, sameSite: "Lax" } as const;
  return {
    async begin(context) {
      const { p = "", s: loginId = "", ek: answerKey = "" } = context.req.query();
      const redirectUrl = redirectUrlOf({ p }, []);
      if (!/^[\w-]{1,64}$/.test(loginId))
        throw new UserError(400, "The query needs s (1 to 64 letters, digits, _ and -).", again);
      await checkedLogin({ loginId, answerKey });
      const { url, secrets } = await identityProvider.begin();
      const sealed = await sealer.seal({ redirectUrl, loginId, answerKey, ...secrets }, loginSeconds);
      setCookie(context, name, sealed, { ...cookie, maxAge: loginSeconds });
      return url;
    },
    async finish(context, address) {
      const sealed = getCookie(context, name);
      const login = sealed === undefined ? undefined : await sealer.open(sealed);
      const url = new URL(context.req.url);
      if (login === undefined || login === "expired") return undefined;
      const { state = "", nonce = "", verifier = "", redirectUrl = "", loginId = "", answerKey = "" } = login;
      if (url.searchParams.get("state") !== state) return undefined;
      deleteCookie(context, name, { path: "/", secure });
      if (!finished.take(state)) throw new UserError(400, "This login was already used.", again);
      const person = await identityProvider.finish(url.search, { state, nonce, verifier });
      const back = new URL(redirectUrl);
      back.searchParams.set("offer", await sessions.offer(person, { loginId, answerKey }, address));
      return back.href;
    },
  };
}
