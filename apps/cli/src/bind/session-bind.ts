/**
 * Binding with the session of `klutch login` instead of another login. The session goes only to the server that issued it, in a header; a
 * proof of the app cluster's key goes with it, so that the person shares the tenant of others there.
 */
import {
  type BindingResponse,
  type LoginWish,
  printable,
  readBindingResponse,
  sessionUrls,
  WireError,
  wishText,
} from "@klutch/api";
import type { Consumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import type { BindOptions } from "../options.ts";
import { proveCluster } from "./cluster-proof.ts";
import { isPerson } from "./confirm.ts";
import { refused, usable } from "./login.ts";
import type { ProviderDescription } from "./provider.ts";
import { forgetLogins, livingLogin, type StoredLogin } from "./stored-logins.ts";
import { postPatiently } from "./token-bind.ts";

/** Returns the session that this bind uses; undefined if the person logs in as without one. Says which it is. */
export async function sessionFor(
  context: CliContext,
  provider: ProviderDescription,
  { wish, device, tokenFile, login, loginAs }: BindOptions,
): Promise<StoredLogin | undefined> {
  // Without named APIs the person chooses on the page of a login.
  if (wish.kind === "none" || device || tokenFile !== undefined || login || !hasPlace(context))
    return undefined;
  const stored = await livingLogin(context, provider.url);
  if (stored === undefined) return undefined;
  const { terminal } = context;
  const who = whoText(stored);
  if (loginAs !== undefined && !isPerson(stored, loginAs)) {
    terminal.say(
      `The session of klutch login is of ${who}, and --login-as asks for ${printable(loginAs)}: you log in again.`,
    );
    return undefined;
  }
  if (stored.sessionUrl !== provider.sessionUrl) {
    terminal.say(
      "The provider's address for sessions is another one than at klutch login, so the session is not sent: you log in again.",
    );
    return undefined;
  }
  terminal.say(`Logged in as ${who} until ${untilText(stored)} by klutch login; --login logs in again.`);
  return stored;
}

/** Sends the wish; resolves to the provider's answer. Throws `CliError`. */
export async function bindWithSession(
  context: CliContext,
  provider: ProviderDescription,
  consumer: Consumer,
  wanted: {
    readonly stored: StoredLogin;
    readonly clusterId: string;
    readonly clusterName: string | undefined;
    readonly wish: LoginWish;
  },
): Promise<BindingResponse> {
  const { stored, clusterId, clusterName, wish } = wanted;
  const { id, issuer, subject, session } = stored;
  const proof = await proveCluster(context, consumer, provider, { sessionId: id, clusterId });
  const body = { clusterID: clusterId, clusterName, wish: wishText(wish), proof };
  const stop = context.terminal.waiting("Binding with the session of klutch login");
  try {
    const answer = await postPatiently(context, sessionUrls(stored.sessionUrl).bind, body, session);
    if (answer.status === 401) await forgetLogins(context, [stored]);
    if (answer.status !== 200) throw refused("did not bind with the session", answer);
    return await usable(() => {
      const response = readBindingResponse(answer.body);
      const { sid, id: person } = response.authentication.oauth2CodeGrant;
      if (sid !== id) throw new WireError("sid", "is that of another session");
      if (person !== `${issuer}/${subject}`) throw new WireError("id", "is that of another person");
      return response;
    });
  } finally {
    stop();
  }
}

/** Returns the person of a session for people. */
export function whoText({ displayName, verifiedEmail, subject }: StoredLogin): string {
  return printable(displayName ?? verifiedEmail ?? subject);
}

/** Returns the end of a session: `2026-11-28 14:05 UTC`. */
export function untilText({ endsAt }: Pick<StoredLogin, "endsAt">): string {
  return `${endsAt.slice(0, 10)} ${endsAt.slice(11, 16)} UTC`;
}

/** Throws `CliError` for a provider without sessions; gives back its address of them. */
export function requireSessions({ sessionUrl, prettyName, url }: ProviderDescription): string {
  if (sessionUrl !== undefined) return sessionUrl;
  throw new CliError(
    "Login",
    `${printable(prettyName || url)} issues no sessions: its backend is of an earlier release, or its operator closed this way with --session-lifetime=off. Use kubectl bind, which logs in each time.`,
  );
}

/** Machines without a home directory, as in CI, store no login. */
function hasPlace({ env }: CliContext): boolean {
  return (env["XDG_CONFIG_HOME"] ?? env["HOME"] ?? "") !== "";
}
