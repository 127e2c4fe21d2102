/**
 * Remembers sessions that ended before their time, until that time: in a Lease beside the one of the leader election, so that every replica
 * knows it at once and after a restart, and the backend needs no further right. Deleting the Lease brings the sessions back.
 *
 * | entry                    | ends                                              |
 * |--------------------------|---------------------------------------------------|
 * | `{by, id, until}`        | one session                                       |
 * | `{by, before, until}`    | every session of a person that began until then   |
 */
import { createHash } from "node:crypto";
import { type Clock, isAlreadyExists, isConflict, type KubeClient } from "@klutch/kube";
import { isRecord, type Lease, leases } from "@klutch/kube-core";
import { UserError } from "../errors.ts";
import type { Identity } from "../identity.ts";

/** Name of the Lease, and the annotation on it: a JSON list of entries; times in milliseconds since 1970. */
export const endedSessionsLease = "klutch-ended-sessions";
export const endedSessionsAnnotation = "klutch.anynines.com/ended-sessions";

/** A session as far as its end is concerned. */
export interface EndableSession extends Identity {
  readonly id: string;
  readonly startedAt: number;
  readonly endsAt: number;
}

/** All reject with `UserError` 503 if the control plane does not answer: then no session counts. */
export interface EndedSessions {
  has(session: EndableSession): Promise<boolean>;
  end(session: EndableSession): Promise<void>;
  /** Ends all sessions of the person that began until `before`; none of them lasts longer than `until`. */
  endAll(person: Identity, times: { readonly before: number; readonly until: number }): Promise<void>;
}

/** One thing to remember. `by` is a hash of the person. */
interface Entry {
  readonly by: string;
  readonly until: number;
  readonly id?: string | undefined;
  readonly before?: number | undefined;
}

/** Entries that fit into the annotations of one object, which have 256 KiB. */
const most = 2_000;
/** Sessions that a person may end one by one; a further one ends all of them, so that no one fills the list alone. */
const mostOfPerson = 5;
/** A try fails because another one succeeded, so it takes as many of them as there are logouts at once. */
const mostTries = 50;
const timeoutMs = 5_000;

/** Keeps them in the namespace of the leader election. */
export function createEndedSessions(parts: {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly clock: Clock;
}): EndedSessions {
  const { client, namespace, clock } = parts;
  const ref = { namespace, name: endedSessionsLease };
  const find = (): Promise<Lease | undefined> =>
    client.find<Lease>(leases, ref, { signal: AbortSignal.timeout(timeoutMs) });

  return {
    has: (session) =>
      answered(async () => {
        const by = hashOf(session);
        return entriesOf(await find()).some(
          (entry) =>
            entry.by === by &&
            (entry.id === session.id || (entry.before !== undefined && session.startedAt <= entry.before)),
        );
      }),
    end: (session) => write({ by: hashOf(session), id: session.id, until: session.endsAt }),
    endAll: (person, { before, until }) => write({ by: hashOf(person), before, until }),
  };

  async function write(entry: Entry): Promise<void> {
    for (let tries = 1; ; tries++) {
      const isWritten = await answered(() => tryToWrite(entry));
      if (isWritten) return;
      if (tries === mostTries) throw unanswered(undefined);
    }
  }

  /** Returns false if another replica wrote at the same moment. */
  async function tryToWrite(entry: Entry): Promise<boolean> {
    const lease = await find();
    const next = withEntry(entriesOf(lease), entry, clock.now());
    if (next === undefined) return true;
    const annotations = { [endedSessionsAnnotation]: JSON.stringify(next) };
    const options = { signal: AbortSignal.timeout(timeoutMs) };
    try {
      if (lease === undefined) {
        const metadata = { ...ref, annotations };
        const made: Lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec: {} };
        await client.create<Lease>(leases, made, options);
      } else {
        const { resourceVersion } = lease.metadata;
        await client.mergePatch(leases, ref, { metadata: { resourceVersion, annotations } }, options);
      }
      return true;
    } catch (error) {
      if (isConflict(error) || isAlreadyExists(error)) return false;
      throw error;
    }
  }
}

/** Returns the entries with one more and without those whose time is over; undefined if nothing changes. Throws `UserError` 503 if there are too many. */
export function withEntry(
  entries: readonly Entry[],
  entry: Entry,
  now: number,
): readonly Entry[] | undefined {
  const alive = entries.filter(({ until }) => until > now);
  const own = alive.filter(({ by }) => by === entry.by);
  const singly = own.filter(({ id }) => id !== undefined);
  if (entry.until <= now || singly.some(({ id }) => id === entry.id)) return undefined;
  const isListed = entry.id !== undefined && singly.length < mostOfPerson;
  // Sessions that ended singly may have begun after the time of an entry for all, except if that is now.
  const others = alive.filter(
    (one) => !own.includes(one) || (entry.id === undefined && singly.includes(one)),
  );
  const until = Math.max(entry.until, ...own.map((one) => one.until));
  const before = Math.max(entry.before ?? now, ...own.map((one) => one.before ?? 0));
  const next = isListed ? [...alive, entry] : [...others, { by: entry.by, before, until }];
  if (next.length <= most) return next;
  throw new UserError(
    503,
    "Too many sessions were ended in a short time.",
    "Try again later. Each session also ends by itself at its time.",
  );
}

/** Throws for a list that cannot be read: then it is not known which sessions ended. */
function entriesOf(lease: Lease | undefined): readonly Entry[] {
  const text = lease?.metadata.annotations?.[endedSessionsAnnotation] ?? "[]";
  const list: unknown = JSON.parse(text);
  if (!Array.isArray(list)) throw new TypeError(`${endedSessionsAnnotation} is not a list`);
  return list.map(entryOf);
}

function entryOf(value: unknown): Entry {
  const { by, until, id, before } = isRecord(value) ? value : {};
  if (typeof by === "string" && typeof until === "number") {
    if (typeof id === "string") return { by, until, id };
    if (typeof before === "number") return { by, until, before };
  }
  throw new TypeError(`${endedSessionsAnnotation} has an entry that is neither a session nor a person`);
}

function hashOf({ issuer, subject }: Identity): string {
  return createHash("sha256")
    .update(JSON.stringify([issuer, subject]))
    .digest("base64url")
    .slice(0, 22);
}

async function answered<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw error instanceof UserError ? error : unanswered(error);
  }
}

function unanswered(cause: unknown): UserError {
  return new UserError(
    503,
    "The control plane does not say at the moment which sessions were ended, so none of them counts.",
    "Try again in a minute. If it goes on, ask the platform operator.",
    { cause },
  );
}
