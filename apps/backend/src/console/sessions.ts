/**
 * Sessions of the console: a sealed cookie, which any replica opens. It has a sealer of its own, so that it opens nothing else, and ends as the
 * sessions of `klutch login` do: at its time, by a logout, and when the identity provider says that the person has logged out.
 */
import type { Clock } from "@klutch/kube";
import { type KnownGroups, withFittingGroups } from "../authorization/fitting-groups.ts";
import { UserError } from "../errors.ts";
import type { Person } from "../identity.ts";
import { randomToken, type Sealer } from "../sealed-cookie.ts";
import type { EndedSessions } from "../sessions/ended-sessions.ts";
import { type Session, sessionOf, textsOf } from "../sessions/sessions.ts";

/** All reject with `UserError`. */
export interface ConsoleSessions {
  readonly lifetimeSeconds: number;
  /** Returns the sealed session of a person who logged in now. */
  issue(person: Person): Promise<string>;
  /** Returns the session; 401 with the reason if it does not count. */
  open(sealed: string | undefined): Promise<Session>;
  /** Throws `UserError` 401 if the session is over or was ended. */
  check(session: Session): Promise<void>;
  /** Ends it at every replica. */
  end(session: Session): Promise<void>;
}

/** Next step of a person without a session. */
export const logInAgain = "Log in again.";

/** Creates them for one replica. */
export function createConsoleSessions(parts: {
  readonly lifetimeSeconds: number;
  readonly sealer: Sealer;
  readonly ended: EndedSessions;
  readonly knownGroups: KnownGroups;
  readonly clock: Clock;
}): ConsoleSessions {
  const { lifetimeSeconds, sealer, ended, knownGroups, clock } = parts;
  const check = async (session: Session): Promise<void> => {
    if (clock.now() >= session.endsAt) throw new UserError(401, "Your session is over.", logInAgain);
    if (await ended.has(session)) throw new UserError(401, "Your session was ended by a logout.", logInAgain);
  };
  return {
    lifetimeSeconds,
    async issue(person) {
      const fitting = await withFittingGroups(person, knownGroups);
      const startedAt = clock.now();
      const endsAt = startedAt + lifetimeSeconds * 1000;
      return sealer.seal(textsOf({ ...fitting, id: randomToken(), startedAt, endsAt }), lifetimeSeconds);
    },
    async open(sealed) {
      const opened = sealed === undefined ? undefined : await sealer.open(sealed);
      if (opened === "expired") throw new UserError(401, "Your session is over.", logInAgain);
      const session = opened && sessionOf(opened);
      if (session === undefined)
        throw new UserError(401, "You are not logged in.", "Log in to see your app clusters.");
      await check(session);
      return session;
    },
    check,
    end: (session) => ended.end(session),
  };
}
