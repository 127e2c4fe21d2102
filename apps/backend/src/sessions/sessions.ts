/**
 * Sessions of people, for scripts: a sealed text with the person and its end, which any replica opens, also after a restart. A replica keeps
 * nothing; sessions that end early are remembered in the control plane (`EndedSessions`). A session says who a person was at the login. Their
 * rights are asked for again at each use.
 */
import { isAnswerKey, isSessionText, sealSession, sealSessionOffer, sessionPrefix } from "@klutch/api";
import type { Clock } from "@klutch/kube";
import { type Audit, recordRefusal, silentAudit } from "../audit/audit.ts";
import { type KnownGroups, withFittingGroups } from "../authorization/fitting-groups.ts";
import { openedUser, sealedUser } from "../authorization/sealed-user.ts";
import { UserError } from "../errors.ts";
import type { Person } from "../identity.ts";
import { randomToken, type Sealer } from "../sealed-cookie.ts";
import type { EndableSession, EndedSessions } from "./ended-sessions.ts";

/** A session that counts. Times in milliseconds since 1970. */
export interface Session extends EndableSession, Person {}

/** The plugin's login that leads to a session. */
export interface SessionLogin {
  readonly loginId: string;
  /** X25519; the session is sealed for it. */
  readonly answerKey: string;
}

/** All reject with `UserError`. */
export interface Sessions {
  /** Returns the sealed offer for a person who logged in. Nothing is issued yet. */
  offer(person: Person, login: SessionLogin, address?: string): Promise<string>;
  /** Returns the sealed session of a ticket: the same session each time, with the end that the login gave it. */
  issue(ticket: string, address?: string): Promise<string>;
  /** Returns the session of a bearer credential; 401 if it does not count, with the reason. */
  open(text: string): Promise<Session>;
  /** Ends it at every replica. */
  end(session: Session, address?: string): Promise<void>;
}

/** Parts of the sessions. */
export interface SessionParts {
  readonly lifetimeSeconds: number;
  readonly tickets: Sealer;
  readonly sealer: Sealer;
  readonly ended: EndedSessions;
  readonly knownGroups: KnownGroups;
  readonly clock: Clock;
  /** Default: nothing is recorded. */
  readonly audit?: Audit | undefined;
}

/** Time in which a person answers the plugin's question. */
const ticketSeconds = 600;
const loginAgain = "Log in again with klutch login.";

/** Creates them for one replica. */
export function createSessions(parts: SessionParts): Sessions {
  const { lifetimeSeconds, tickets, sealer, ended, knownGroups, clock, audit = silentAudit } = parts;
  return {
    async offer(person, { loginId, answerKey }, address) {
      const asker = { ...person, way: "session", address } as const;
      const fitting = await recordRefusal(audit, { decision: "login", asker }, () =>
        withFittingGroups(person, knownGroups),
      );
      const startedAt = clock.now();
      const session = {
        ...fitting,
        id: randomToken(),
        startedAt,
        endsAt: startedAt + lifetimeSeconds * 1000,
      };
      const lifetime = Math.min(ticketSeconds, lifetimeSeconds);
      const ticket = await tickets.seal({ ...textsOf(session), loginId, answerKey }, lifetime);
      return sealSessionOffer(answerKey, { ...namesOf(session), loginId, ticket });
    },
    async issue(ticket, address) {
      const opened = await tickets.open(ticket);
      if (opened === "expired")
        throw new UserError(401, "The login was not taken up within ten minutes.", loginAgain);
      const session = opened && sessionOf(opened);
      if (opened === undefined || session === undefined)
        throw new UserError(400, "The ticket was not made at this backend, or it was changed.", loginAgain);
      const { loginId = "", answerKey = "" } = opened;
      const leftSeconds = Math.floor((session.endsAt - clock.now()) / 1000);
      if (leftSeconds < 1) throw over(session);
      const text = sessionPrefix + (await sealer.seal(textsOf(session), leftSeconds));
      audit.record({
        decision: "login",
        allowed: true,
        outcome: "SessionIssued",
        asker: { ...session, way: "session", address },
      });
      const endsAt = new Date(session.endsAt).toISOString();
      return sealSession(answerKey, { ...namesOf(session), loginId, id: session.id, session: text, endsAt });
    },
    async open(text) {
      const opened = isSessionText(text) ? await sealer.open(text.slice(sessionPrefix.length)) : undefined;
      if (opened === "expired") throw new UserError(401, "Your session is over.", loginAgain);
      const session = opened && sessionOf(opened);
      if (session === undefined)
        throw new UserError(
          401,
          "The session was not issued by this backend, or it was changed.",
          loginAgain,
        );
      if (clock.now() >= session.endsAt) throw over(session);
      if (await ended.has(session))
        throw new UserError(401, "Your session was ended by a logout.", loginAgain);
      return session;
    },
    async end(session, address) {
      const asker = { ...session, way: "session", address } as const;
      await recordRefusal(audit, { decision: "logout", asker }, () => ended.end(session));
      audit.record({ decision: "logout", allowed: true, outcome: "SessionEnded", asker });
    },
  };
}

/** Returns the login. Throws `UserError` 400 for a key to which nothing can be sealed. */
export async function checkedLogin(login: SessionLogin): Promise<SessionLogin> {
  if (await isAnswerKey(login.answerKey)) return login;
  throw new UserError(400, "The answer key is not an X25519 public key in base64url.", loginAgain);
}

function over({ endsAt }: Session): UserError {
  return new UserError(401, `Your session ended at ${new Date(endsAt).toISOString()}.`, loginAgain);
}

function namesOf(
  person: Person,
): Pick<Person, "issuer" | "subject" | "user" | "displayName" | "verifiedEmail"> {
  const { issuer, subject, user, displayName, verifiedEmail } = person;
  return { issuer, subject, user, displayName, verifiedEmail };
}

/** Returns the session as texts, to be sealed. */
export function textsOf(session: Session): Readonly<Record<string, string>> {
  const { id, issuer, subject, displayName = "", verifiedEmail = "", startedAt, endsAt } = session;
  const times = { startedAt: String(startedAt), endsAt: String(endsAt) };
  return { id, issuer, subject, displayName, verifiedEmail, ...times, ...sealedUser(session) };
}

/** Reads them back; undefined for what another release sealed. */
export function sessionOf(texts: Readonly<Record<string, string>>): Session | undefined {
  const { id = "", issuer = "", subject = "", displayName, verifiedEmail } = texts;
  const [startedAt, endsAt] = [Number(texts["startedAt"]), Number(texts["endsAt"])];
  if (id === "" || issuer === "" || subject === "" || !(startedAt > 0) || !(endsAt > 0)) return undefined;
  return {
    id,
    issuer,
    subject,
    startedAt,
    endsAt,
    ...(displayName ? { displayName } : {}),
    ...(verifiedEmail ? { verifiedEmail } : {}),
    ...openedUser(texts),
  };
}
