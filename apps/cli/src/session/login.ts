/**
 * `klutch login`: a login that leads to a session, which `klutch templates` and `kubectl bind` use afterwards. No cluster takes part. The browser
 * brings a sealed offer; the person says whether that is right, and the session comes as the answer to a request of this machine.
 */
import {
  type AnswerKey,
  type IssuedSession,
  newAnswerKey,
  openSession,
  openSessionOffer,
  printable,
  sessionLogin,
  type SessionOffer,
  sessionUrls,
  WireError,
} from "@klutch/api";
import { isRecord } from "@klutch/kube-core";
import { Secret } from "@klutch/telemetry";
import { type AnswerReader, startCallbackServer } from "../bind/callback-server.ts";
import { askWho } from "../bind/confirm.ts";
import { offerOnDevice } from "../bind/device.ts";
import { answerFromBrowser, newSessionId, refused, usable } from "../bind/login.ts";
import { fetchProvider, type ProviderDescription } from "../bind/provider.ts";
import { requireSessions, untilText, whoText } from "../bind/session-bind.ts";
import { isAlive, loginKey, readLogins, storeLogin } from "../bind/stored-logins.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { postJson } from "../http.ts";
import type { LoginFlags } from "../options.ts";

/** Ends the words of a login that failed. */
const notLoggedIn = "You are not logged in.";

/** Runs the command. A file of logins that cannot be used ends it before anyone logs in. */
export async function login(context: CliContext, url: string, options: LoginFlags): Promise<void> {
  const key = loginKey(url);
  await readLogins(context);
  const provider = await fetchProvider(url, context.signal, options.allowAuthorizeUrl);
  const sessionUrl = requireSessions(provider);
  const answerKey = await newAnswerKey();
  const loginId = newSessionId();
  const offer = options.device
    ? await onDevice(context, provider, { sessionUrl, answerKey, loginId, timeoutMs: options.timeoutMs })
    : await inBrowser(context, provider, { answerKey, loginId, ...options });
  const who = printable(provider.prettyName || provider.url);
  await askWho(context, offer, {
    loginAs: options.loginAs,
    meaning: `If you continue, commands on this machine bind APIs at ${who} as that person, until the session ends.`,
    end: notLoggedIn,
  });
  const { session, ...issued } = await takeUp(context, sessionUrl, offer, answerKey);
  const stored = { ...issued, url: key, sessionUrl, session: new Secret(session) };
  if (!isAlive(context, stored))
    throw new CliError(
      "Login",
      `${who} says that the session ended at ${untilText(stored)} already. Check the clock of this machine. ${notLoggedIn}`,
    );
  const path = await storeLogin(context, stored);
  context.terminal.say(
    `Logged in to ${who} as ${whoText(stored)} until ${untilText(stored)}. The session is in ${printable(path)}.`,
  );
}

interface Run {
  readonly answerKey: AnswerKey;
  readonly loginId: string;
  readonly timeoutMs: number;
}

async function inBrowser(
  context: CliContext,
  provider: ProviderDescription,
  { answerKey, loginId, timeoutMs, browser }: Run & { readonly browser: boolean },
): Promise<SessionOffer> {
  await using callback = await startCallbackServer(offerReader(answerKey, loginId));
  const url = new URL(provider.loginUrl);
  url.searchParams.set("t", sessionLogin);
  url.searchParams.set("p", String(callback.port));
  url.searchParams.set("s", loginId);
  url.searchParams.set("ek", answerKey.publicKey);
  return await answerFromBrowser(context, provider, url.href, callback, { timeoutMs, browser });
}

function offerReader(key: AnswerKey, loginId: string): AnswerReader<SessionOffer> {
  return {
    describe: () => "this login",
    async judge(query) {
      try {
        return { kind: "accepted", answer: await openedOffer(key, query.get("offer") ?? "", loginId) };
      } catch (cause) {
        // Anybody can seal for this key, which stands in the address: a malformed offer must not end the waiting.
        if (!(cause instanceof WireError)) throw cause;
        return { kind: "foreign", problem: cause.message };
      }
    },
  };
}

async function onDevice(
  context: CliContext,
  provider: ProviderDescription,
  { sessionUrl, answerKey, loginId, timeoutMs }: Run & { readonly sessionUrl: string },
): Promise<SessionOffer> {
  const sealed = await offerOnDevice(context, provider, {
    url: sessionUrls(sessionUrl).device,
    request: { loginId, answerKey: answerKey.publicKey },
    caution: "commands on this machine could then act as the person who logs in with it",
    end: notLoggedIn,
    timeoutMs,
  });
  return usable(() => openedOffer(answerKey, sealed, loginId));
}

/** Rejects with `WireError` for an offer that is not of this run. */
async function openedOffer(key: AnswerKey, sealed: string, loginId: string): Promise<SessionOffer> {
  const offer = await openSessionOffer(key, sealed);
  if (offer.loginId !== loginId) throw new WireError("offer.loginId", "is that of another login");
  return offer;
}

/** Gets the session of an offer. Throws `CliError` if it is not of this login and this person. */
async function takeUp(
  context: CliContext,
  sessionUrl: string,
  { ticket, loginId, issuer, subject }: SessionOffer,
  key: AnswerKey,
): Promise<Omit<IssuedSession, "loginId">> {
  const given = await postJson(context, sessionUrl, { ticket });
  const answer = isRecord(given.body) ? given.body["answer"] : undefined;
  if (given.status !== 200 || typeof answer !== "string")
    throw refused("issued no session", given, notLoggedIn);
  return usable(async () => {
    const { loginId: of, ...session } = await openSession(key, answer);
    if (of !== loginId) throw new WireError("session.loginId", "is that of another login");
    if (session.issuer !== issuer || session.subject !== subject)
      throw new WireError("session.subject", "is that of another person");
    return session;
  });
}
