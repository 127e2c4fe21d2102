/** A backend's routes for sessions in a time that the test turns, and a plugin that logs in there. */
import {
  type AnswerKey,
  type IssuedSession,
  newAnswerKey,
  openSession,
  openSessionOffer,
  type SessionOffer,
} from "@klutch/api";
import { type Clock, systemClock } from "@klutch/kube";
import { createLogger, Secret } from "@klutch/telemetry";
import { Hono } from "hono";
import type { AuditRecord } from "../audit/audit.ts";
import { UserError } from "../errors.ts";
import type { Person } from "../identity.ts";
import { createAdmission } from "../login/admission.ts";
import { addNoninteractiveRoute } from "../login/noninteractive-route.ts";
import type { BindSession } from "../provisioning/bind.ts";
import { createClusterKeyOf } from "../provisioning/cluster-proof.ts";
import { createSealer } from "../sealed-cookie.ts";
import type { EndedSessions } from "../sessions/ended-sessions.ts";
import { createSessionBind } from "../sessions/session-bind.ts";
import { addSessionRoutes } from "../sessions/session-routes.ts";
import { createSessions } from "../sessions/sessions.ts";
import { mariadb, postgresql } from "./service-offers.ts";

/** Key of the plugin. */
export const key: AnswerKey = await newAnswerKey();
/** People. */
export const ann: Person = {
  issuer: "https://idp.example.org",
  subject: "ann",
  user: "oidc:ann",
  groups: ["oidc:team-a"],
  displayName: "Ann",
  verifiedEmail: "ann@example.org",
};
export const mallory: Person = { ...ann, subject: "mallory", user: "oidc:mallory", displayName: undefined };

/** One backend in a time that the test turns; `ended` plays the control plane, which all replicas share. */
export interface Stage {
  readonly app: Hono;
  readonly sessions: ReturnType<typeof createSessions>;
  readonly lines: string[];
  readonly audited: AuditRecord[];
  readonly bound: BindSession[];
  readonly pass: (seconds: number) => void;
  readonly clock: Clock;
}

/** Parts that a test replaces. */
export interface Change {
  readonly keys?: number;
  readonly ended?: EndedSessions;
  /** Returns true for people who may bind. */
  readonly mayBind?: (person: Person) => boolean;
  readonly lifetimeSeconds?: number;
  /** Keys of the tenant that everyone has. Default: they have none. */
  readonly keysOfTenant?: readonly string[];
  readonly requireProof?: boolean;
}

/** Plays the control plane. */
export function endedInMemory(): EndedSessions {
  const ended = new Set<string>();
  return {
    has: async ({ id }) => ended.has(id),
    end: async ({ id }) => void ended.add(id),
    endAll: async () => undefined,
  };
}

/** Makes one replica. */
export function stage({
  keys: byte = 7,
  ended = endedInMemory(),
  mayBind,
  lifetimeSeconds = 3600,
  ...change
}: Change = {}): Stage {
  const keys = { signing: new Secret(Buffer.alloc(32, byte)), encryption: undefined };
  const [lines, audited, bound]: [string[], AuditRecord[], BindSession[]] = [[], [], []];
  const logger = createLogger({ name: "test", write: (line) => lines.push(line) });
  const audit = { record: (record: AuditRecord) => void audited.push(record) };
  let passed = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + passed };
  const isAllowed = (person: Person): boolean => mayBind?.(person) ?? true;
  const offers = {
    visible: async (person: Person) => (isAllowed(person) ? [...postgresql, mariadb] : []),
    unavailable: async (person: Person) =>
      isAllowed(person)
        ? [{ group: "x.org", resource: "queues", reason: "no kind", template: { namespace: "n", name: "q" } }]
        : [],
  };
  const sessions = createSessions({
    lifetimeSeconds,
    tickets: createSealer("session ticket", keys),
    sealer: createSealer("bearer session", keys),
    ended,
    knownGroups: async () => [],
    clock,
    audit,
  });
  const renewal = createSealer("renewal", keys);
  const app = new Hono();
  const gate = { admit: createAdmission(systemClock), addressOf: () => "192.0.2.7" };
  addSessionRoutes(app, {
    sessions,
    offers,
    identityProvider: {
      beginDevice: () => Promise.reject(new Error("not asked")),
      pollDevice: () => Promise.reject(new Error("not asked")),
    },
    endSessionUrl: () => "https://idp.example.org/logout?client_id=klutch",
    handles: createSealer("session device", keys),
    clock,
    gate,
    logger,
  });
  const respond = async (session: BindSession): Promise<never> => {
    bound.push(session);
    return {
      kind: "BindingResponse",
      apiVersion: "klutch.anynines.com/v1alpha1",
      authentication: { oauth2CodeGrant: { sid: session.sessionId, id: "x" } },
      kubeconfig: "a3ViZWNvbmZpZw==",
      requests: [],
    } as never;
  };
  const withSession = createSessionBind({
    sessions,
    offers,
    respond,
    clusterKeyOf: createClusterKeyOf({ sealer: renewal, url: "https://klutch.example.org/renew" }),
    ownTenant: () => change.keysOfTenant && { name: "cluster-one", keys: change.keysOfTenant },
    requireProof: change.requireProof === true,
    addressOf: gate.addressOf,
    logger,
    audit,
  });
  const program = async (): Promise<undefined> => {
    throw new UserError(401, "The access token is not accepted.", "Request a new one.");
  };
  addNoninteractiveRoute(app, { program, respond, withSession, gate, logger });
  return { app, sessions, lines, audited, bound, clock, pass: (seconds) => void (passed += seconds * 1000) };
}

/** Logs the person in. */
export async function offerTo(at: Stage, person: Person): Promise<SessionOffer> {
  const login = { loginId: "login1", answerKey: key.publicKey };
  return openSessionOffer(key, await at.sessions.offer(person, login));
}

/** Takes an offer up. */
export async function issued(at: Stage, { ticket }: Pick<SessionOffer, "ticket">): Promise<IssuedSession> {
  const { answer } = (await (await at.app.request("/session", post({ ticket }))).json()) as {
    answer: string;
  };
  return openSession(key, answer);
}

/** Both. */
export async function logIn(at: Stage, person: Person = ann): Promise<IssuedSession> {
  return issued(at, await offerTo(at, person));
}

/** Returns a request with JSON. */
export function post(body: unknown, session?: string): RequestInit {
  const headers = { "content-type": "application/json", ...bearer(session) };
  return { method: "POST", headers, body: JSON.stringify(body) };
}

/** Returns the header of a session. */
export function bearer(session: string | undefined): Readonly<Record<string, string>> {
  return session === undefined ? {} : { authorization: `Bearer ${session}` };
}

/** Status and words of an answer. */
export interface Said {
  readonly status: number;
  readonly error: string;
}

/** Reads them. */
export async function said(answer: Response | Promise<Response>): Promise<Said> {
  const response = await answer;
  const body = (await response.json()) as { readonly error?: string };
  return { status: response.status, error: body.error ?? "" };
}
