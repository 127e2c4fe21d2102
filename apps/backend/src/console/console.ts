/** Wires the console: sessions, rights, rows, streams and routes. */
import type { APIServiceExportTemplate } from "@klutch/api";
import type { Clock, KubeClient } from "@klutch/kube";
import { Informer, type ManagerPart } from "@klutch/kube-runtime";
import { events as eventType } from "@klutch/kube-core";
import { auditEvent, type AuditEvent, auditSelector } from "@klutch/overview";
import type { Logger } from "@klutch/telemetry";
import type { Hono } from "hono";
import type { Audit } from "../audit/audit.ts";
import { createMayDo } from "../authorization/access-reviews.ts";
import type { AllowedOffers } from "../authorization/allowed-offers.ts";
import type { KnownGroups } from "../authorization/fitting-groups.ts";
import type { Caches } from "../controller-context.ts";
import type { Cost } from "../cost/cost.ts";
import type { IdentityProvider } from "../login/identity-provider.ts";
import type { Gate } from "../login/open-routes.ts";
import { createSealer } from "../sealed-cookie.ts";
import type { EndedSessions } from "../sessions/ended-sessions.ts";
import { watching } from "../watching.ts";
import { allActions, createActions } from "./actions/actions.ts";
import { addActionRoutes } from "./actions/routes.ts";
import type { Assets } from "./assets.ts";
import { Board } from "./board.ts";
import { ConsoleClaims } from "./claims.ts";
import { ConsoleCost } from "./cost.ts";
import { explainRow } from "./explain.ts";
import { consoleHeaders } from "./headers.ts";
import { type ConsoleLogin, createConsoleLogin } from "./login.ts";
import { createRightsOf } from "./rights.ts";
import { addConsoleRoutes } from "./routes.ts";
import { createConsoleSessions } from "./sessions.ts";
import { Streams } from "./streams.ts";

/** Parts of the console. */
export interface ConsoleParts {
  readonly assets: Assets;
  readonly lifetimeSeconds: number;
  /** True to let people act, by their own rights. */
  readonly acts: boolean;
  readonly cookieKeys: Parameters<typeof createSealer>[1];
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly cost: Pick<Cost, "prices" | "bill" | "wantBill">;
  readonly templates: Informer<APIServiceExportTemplate>;
  readonly offers: AllowedOffers;
  readonly ended: EndedSessions;
  readonly identityProvider: IdentityProvider;
  readonly knownGroups: KnownGroups;
  readonly prettyName: string;
  readonly secure: boolean;
  readonly gate: Gate;
  readonly audit: Audit;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Most Events in memory; the API server keeps them for an hour, and the backend writes at most two a second. */
const mostEvents = 20_000;

/** The console of one replica. */
export interface Console {
  readonly login: Pick<ConsoleLogin, "finish">;
  /** Adds its headers; before all other routes. */
  before(app: Hono): void;
  addRoutes(app: Hono): void;
  /** Ends open streams, so that the server can stop. */
  close(): void;
  readonly parts: readonly ManagerPart[];
}

/** Creates it. */
export function createConsole(parts: ConsoleParts): Console {
  const { client, caches, templates, offers, cookieKeys, prettyName, clock, signal } = parts;
  const claims = new ConsoleClaims({ client, caches, logger: parts.logger });
  const events = new Informer<AuditEvent>({
    client,
    logger: parts.logger,
    type: eventType,
    fieldSelector: auditSelector,
    transform: auditEvent,
    maxObjects: mostEvents,
  });
  parts.cost.wantBill();
  const cost = new ConsoleCost(parts.cost);
  const board = new Board({
    caches,
    templates,
    claims,
    cost,
    events,
    now: () => clock.monotonic(),
    time: () => clock.now(),
  });
  const sessions = createConsoleSessions({ ...parts, sealer: createSealer("console session", cookieKeys) });
  const login = createConsoleLogin({ ...parts, sessions, sealer: createSealer("console login", cookieKeys) });
  const mayDo = createMayDo({
    client,
    clock,
    unanswered: "The control plane does not say at the moment who may see what, so nothing is shown.",
  });
  const { namespaces } = caches;
  const actions = parts.acts ? allActions(client) : [];
  const rightsOf = createRightsOf({
    mayDo,
    offers,
    namespaces,
    kinds: () => claims.caches,
    provider: prettyName,
    actions: actions.map(({ collection }) => collection),
    signal,
  });
  const acting = createActions({
    ...parts,
    actions,
    mayDo: createMayDo({
      client,
      clock,
      rememberedMs: 0,
      unanswered: "The control plane does not say at the moment who may do what, so nothing is done.",
    }),
    rightsOf,
    board,
    sealer: createSealer("console action", cookieKeys),
  });
  const streams = new Streams({ board, rightsOf, sessions, clock });
  return {
    login,
    before: (app) => void app.use("/console/*", consoleHeaders()),
    addRoutes: (app) => {
      if (parts.acts) addActionRoutes(app, { ...parts, actions: acting, login });
      addConsoleRoutes(app, {
        ...parts,
        login,
        rightsOf,
        board,
        streams,
        explain: (row) => explainRow(client, claims.caches.get(row.api)?.type, row),
      });
    },
    close: () => streams.close(),
    parts: [claims, watching("console-audit", [events])],
  };
}
