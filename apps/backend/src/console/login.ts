/** The login of the console in a browser, and its cookies. The identity provider sends the browser back to /callback, as for other logins. */
import type { Clock } from "@klutch/kube";
import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { type Audit, recordRefusal } from "../audit/audit.ts";
import { UserError } from "../errors.ts";
import type { IdentityProvider } from "../login/identity-provider.ts";
import { createUsedOnce } from "../login/used-once.ts";
import type { Sealer } from "../sealed-cookie.ts";
import type { Session } from "../sessions/sessions.ts";
import type { ConsoleSessions } from "./sessions.ts";

/** Parts of the login. */
export interface ConsoleLoginParts {
  readonly identityProvider: Pick<IdentityProvider, "begin" | "finish">;
  readonly sessions: ConsoleSessions;
  readonly sealer: Sealer;
  /** True if browsers reach the backend over TLS; then cookies are Secure. */
  readonly secure: boolean;
  readonly audit: Audit;
  readonly clock: Clock;
}

/** The login of one replica. All reject with `UserError`. */
export interface ConsoleLogin {
  /** Binds a login to this browser; returns the identity provider's URL. */
  begin(context: Context): Promise<string>;
  /** Gives the browser its session and returns where it goes on; undefined if the callback is of another login. */
  finish(context: Context, address: string | undefined): Promise<string | undefined>;
  session(context: Context): Promise<Session>;
  /** Ends the session of this browser, at every replica. */
  end(context: Context, address: string | undefined): Promise<void>;
}

const loginSeconds = 600;
const rememberedLogins = 10_000;

/** Path of the pages. */
export const consolePath = "/console/";

/** Creates it. */
export function createConsoleLogin(parts: ConsoleLoginParts): ConsoleLogin {
  const { identityProvider, sessions, sealer, secure, audit, clock } = parts;
  const finished = createUsedOnce({ clock, lifetimeMs: loginSeconds * 1000, capacity: rememberedLogins });
  const prefix = secure ? "__Host-" : "";
  const [loginCookie, cookie] = [`${prefix}klutch-console-login`, `${prefix}klutch-console`];
  const common = { path: "/", httpOnly: true, secure } as const;
  return {
    async begin(context) {
      const { url, secrets } = await identityProvider.begin();
      const sealed = await sealer.seal({ ...secrets }, loginSeconds);
      // Lax: the identity provider sends the browser back from another site.
      setCookie(context, loginCookie, sealed, { ...common, sameSite: "Lax", maxAge: loginSeconds });
      return url;
    },
    async finish(context, address) {
      const sealed = getCookie(context, loginCookie);
      const login = sealed === undefined ? undefined : await sealer.open(sealed);
      const url = new URL(context.req.url);
      if (login === undefined || login === "expired") return undefined;
      const { state = "", nonce = "", verifier = "" } = login;
      if (url.searchParams.get("state") !== state) return undefined;
      deleteCookie(context, loginCookie, { path: "/", secure });
      if (!finished.take(state))
        throw new UserError(400, "This login was already used.", "Open the console again.");
      const person = await identityProvider.finish(url.search, { state, nonce, verifier });
      const asker = { ...person, way: "session", address } as const;
      const value = await recordRefusal(audit, { decision: "login", asker }, () => sessions.issue(person));
      audit.record({ decision: "login", allowed: true, outcome: "SessionIssued", asker });
      // Strict: no other site makes a request with it. The pages' own requests are of this site.
      const maxAge = sessions.lifetimeSeconds;
      setCookie(context, cookie, value, { ...common, sameSite: "Strict", maxAge });
      return consolePath;
    },
    session: (context) => sessions.open(getCookie(context, cookie)),
    async end(context, address) {
      const session = await sessions.open(getCookie(context, cookie));
      const asker = { ...session, way: "session", address } as const;
      await recordRefusal(audit, { decision: "logout", asker }, () => sessions.end(session));
      audit.record({ decision: "logout", allowed: true, outcome: "SessionEnded", asker });
      deleteCookie(context, cookie, { path: "/", secure });
    },
  };
}
