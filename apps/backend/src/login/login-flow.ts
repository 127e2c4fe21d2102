/** The login as the browser goes through it: two sealed cookies; the server remembers only which logins were finished. */
import type { Clock } from "@klutch/kube";
import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { UserError } from "../errors.ts";
import type { Person } from "../identity.ts";
import { randomToken, type Sealer } from "../sealed-cookie.ts";
import type { IdentityProvider } from "./identity-provider.ts";
import { type KnownGroups, withFittingGroups } from "../authorization/fitting-groups.ts";
import { openedUser, sealedUser } from "../authorization/sealed-user.ts";
import { createUsedOnce, type UsedOnce } from "./used-once.ts";

/** Parameters of the plugin's request. */
export interface LoginRequest {
  readonly redirectUrl: string;
  readonly sessionId: string;
  readonly clusterId: string;
  /** Public key of the app cluster, when the plugin proved in the URL that it holds it, and the id of that proof. */
  readonly clusterKey?: string | undefined;
  readonly proofId?: string | undefined;
  /** Keys of a plugin that confirms the login; both or none. The second one is not proven. */
  readonly answerKey?: string | undefined;
  readonly offeredKey?: string | undefined;
  /** Name that the plugin gave the app cluster, for people. */
  readonly clusterName?: string | undefined;
  /** Text of the `LoginWish` of a plugin that takes several APIs; undefined for one that takes one. */
  readonly wish?: string | undefined;
}

/** A person who logged in, and what for. */
export interface Session extends LoginRequest, Person {
  readonly csrf: string;
}

/** Parts of `LoginFlow`. */
export interface LoginFlowOptions {
  readonly identityProvider: Pick<IdentityProvider, "begin" | "finish">;
  readonly loginSealer: Sealer;
  readonly sessionSealer: Sealer;
  /** Returns the groups that count; asked for a login with more groups than a cookie has room for. Default: none counts. */
  readonly knownGroups?: KnownGroups | undefined;
  /** True if browsers reach the backend over TLS; then cookies are Secure. */
  readonly secure: boolean;
  readonly clock: Clock;
}

/** Logins that a replica remembers as finished. */
const rememberedLogins = 10_000;
/** Sessions that one browser may have at the same time: all its cookies must fit into the header of a request. */
const maxSessions = 3;
const loginSeconds = 600;
const sessionSeconds = 3600;
const loginFields = ["redirectUrl", "sessionId", "clusterId", "state", "nonce", "verifier"] as const;
const sessionFields = ["redirectUrl", "sessionId", "clusterId", "issuer", "subject", "csrf"] as const;
/** Fields that replicas of an earlier release leave out; sealed as an empty text if there is none. */
const optionalFields = [
  "clusterKey",
  "proofId",
  "answerKey",
  "offeredKey",
  "clusterName",
  "displayName",
  "verifiedEmail",
  "wish",
] as const;

/** Begins, finishes and recognises logins. Which logins are finished is known to this replica only. */
export class LoginFlow {
  readonly #options: LoginFlowOptions;
  readonly #finished: UsedOnce;

  constructor(options: LoginFlowOptions) {
    this.#options = options;
    const { clock } = options;
    this.#finished = createUsedOnce({ clock, lifetimeMs: loginSeconds * 1000, capacity: rememberedLogins });
  }

  /** Binds the login to this browser; gives back the identity provider's URL. */
  async begin(context: Context, request: LoginRequest): Promise<string> {
    const { url, secrets } = await this.#options.identityProvider.begin();
    const sealed = await this.#options.loginSealer.seal({ ...sealable(request), ...secrets }, loginSeconds);
    this.#setCookie(context, loginCookie, sealed, loginSeconds);
    return url;
  }

  /**
   * The second half, at the callback. The login is used up whatever happens: the browser is told to forget the cookie, and one that
   * was kept is refused before the identity provider is asked.
   */
  async finish(context: Context): Promise<Session> {
    const sealed = getCookie(context, this.#name(loginCookie));
    deleteCookie(context, this.#name(loginCookie), { path: "/", secure: this.#options.secure });
    const login = sealed === undefined ? undefined : await this.#options.loginSealer.open(sealed);
    if (login === "expired") throw expired("The login took longer than ten minutes.");
    if (login === undefined) {
      throw notStarted();
    }
    const { state, nonce, verifier, ...request } = pick(login, loginFields);
    const { sessionId } = request;
    const url = new URL(context.req.url);
    if (url.searchParams.get("state") !== state) {
      throw new UserError(400, "The answer of the identity provider does not belong to this login.", again);
    }
    if (!this.#finished.take(state)) throw notStarted();
    const person = await this.#options.identityProvider.finish(url.search, {
      state,
      nonce,
      verifier,
    });
    const session: Session = {
      ...request,
      ...optionalOf(login),
      ...person,
      csrf: randomToken(),
    };
    const { knownGroups = () => Promise.resolve([]) } = this.#options;
    const fitting = await withFittingGroups(person, knownGroups);
    const texts = { ...sealable(session), ...sealedUser(fitting) };
    const value = await this.#options.sessionSealer.seal(texts, sessionSeconds);
    this.#forgetOldSessions(context, sessionId);
    this.#setCookie(context, sessionCookie(sessionId), value, sessionSeconds);
    return session;
  }

  /** The session that the query names. Throws `UserError` 401. */
  async session(context: Context, sessionId: string | undefined): Promise<Session> {
    if (!isSessionId(sessionId)) throw expired("You are not logged in.");
    const sealed = getCookie(context, this.#name(sessionCookie(sessionId)));
    const value = sealed === undefined ? undefined : await this.#options.sessionSealer.open(sealed);
    if (value === undefined) throw expired("You are not logged in.");
    if (value === "expired") throw expired("Your login has expired.");
    const session = pick(value, sessionFields);
    if (session.sessionId !== sessionId) throw expired("You are not logged in.");
    return { ...session, ...optionalOf(value), ...openedUser(value) };
  }

  #forgetOldSessions(context: Context, sessionId: string): void {
    const { secure } = this.#options;
    const kept = [this.#name(loginCookie), this.#name(sessionCookie(sessionId))];
    const others = Object.keys(getCookie(context)).filter(
      (name) => name.startsWith(this.#name(sessionCookie(""))) && !kept.includes(name),
    );
    for (const name of others.slice(0, Math.max(0, others.length - maxSessions + 1))) {
      deleteCookie(context, name, { path: "/", secure });
    }
  }

  #setCookie(context: Context, name: string, value: string, maxAge: number): void {
    const { secure } = this.#options;
    // Lax: the identity provider sends the browser back from another site, by a top-level GET.
    setCookie(context, this.#name(name), value, {
      path: "/",
      httpOnly: true,
      secure,
      sameSite: "Lax",
      maxAge,
    });
  }

  /** The `__Host-` prefix ties a cookie to exactly this host, but browsers accept it only over TLS. */
  #name(name: string): string {
    return this.#options.secure ? `__Host-${name}` : name;
  }
}

/** Returns true for an id that a plugin may choose. One of them would be the name of the cookie of logins. */
export function isSessionId(value: string | undefined): value is string {
  return value !== undefined && /^[\w-]{1,64}$/.test(value) && sessionCookie(value) !== loginCookie;
}

const loginCookie = "klutch-bind-login";
const again = "Start again with kubectl bind.";

function sessionCookie(sessionId: string): string {
  return `klutch-bind-${sessionId}`;
}

function notStarted(): UserError {
  return new UserError(400, "This login was not started in this browser, or it was already used.", again);
}

function expired(message: string): UserError {
  return new UserError(401, message, again);
}

/** The values that a replica of any release sealed, or left out. */
function optionalOf(
  value: Readonly<Record<string, string>>,
): Readonly<Partial<Record<(typeof optionalFields)[number], string>>> {
  return Object.fromEntries(
    optionalFields.flatMap((name) => (value[name] ? [[name, value[name]] as const] : [])),
  );
}

/** The fields as texts. An earlier release cannot open a login without `clusterKey`. */
function sealable<T extends LoginRequest>(value: T): Readonly<Record<string, string>> {
  const empty = Object.fromEntries(optionalFields.map((name) => [name, ""] as const));
  const entries = Object.entries(value).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return { ...empty, ...Object.fromEntries(entries) };
}

/** Exactly the wanted fields. Throws when one is missing: a value sealed by another version. */
function pick<const F extends readonly string[]>(
  value: Readonly<Record<string, string>>,
  fields: F,
): { readonly [K in F[number]]: string } {
  const entries = fields.map((field) => {
    const text = value[field];
    if (text === undefined) throw expired("Your login is from another version of the backend.");
    return [field, text] as const;
  });
  return Object.fromEntries(entries) as { readonly [K in F[number]]: string };
}
