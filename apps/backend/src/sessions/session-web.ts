/** Wires the sessions of one backend: their login, their routes, and the bind with one. */
import type { BindingResponse } from "@klutch/api";
import type { Clock } from "@klutch/kube";
import type { Logger } from "@klutch/telemetry";
import type { Context, Hono } from "hono";
import type { Audit } from "../audit/audit.ts";
import type { AllowedOffers } from "../authorization/allowed-offers.ts";
import type { KnownGroups } from "../authorization/fitting-groups.ts";
import type { SessionLogins } from "../login/app.ts";
import type { IdentityProvider } from "../login/identity-provider.ts";
import type { Gate } from "../login/open-routes.ts";
import type { Respond } from "../provisioning/bind.ts";
import type { ClusterKeyOf } from "../provisioning/cluster-proof.ts";
import { createSealer } from "../sealed-cookie.ts";
import { createBrowserLogin } from "./browser-login.ts";
import type { EndedSessions } from "./ended-sessions.ts";
import { createSessionBind } from "./session-bind.ts";
import { addSessionRoutes } from "./session-routes.ts";
import { createSessions } from "./sessions.ts";

/** Sessions as the application needs them. */
export interface SessionWeb {
  readonly login: SessionLogins;
  /** Public URL of /session. */
  readonly url: string;
  readonly addRoutes: (app: Hono) => void;
  readonly bind: (context: Context, session: string) => Promise<BindingResponse>;
}

/** Creates it; undefined without a lifetime. */
export function createSessionWeb(parts: {
  /** Undefined if the operator closed this way. */
  readonly lifetimeSeconds: number | undefined;
  readonly cookieKeys: Parameters<typeof createSealer>[1];
  readonly ended: EndedSessions;
  readonly identityProvider: IdentityProvider;
  readonly offers: Pick<AllowedOffers, "visible" | "unavailable">;
  readonly respond: Respond;
  readonly clusterKeyOf: ClusterKeyOf;
  readonly ownTenant: Parameters<typeof createSessionBind>[0]["ownTenant"];
  readonly requireProof: boolean;
  readonly knownGroups: KnownGroups;
  readonly url: string;
  readonly secure: boolean;
  readonly gate: Gate;
  readonly audit: Audit;
  readonly logger: Logger;
  readonly clock: Clock;
}): SessionWeb | undefined {
  const { identityProvider, url, gate, lifetimeSeconds, cookieKeys } = parts;
  if (lifetimeSeconds === undefined) return undefined;
  const sessions = createSessions({
    ...parts,
    lifetimeSeconds,
    tickets: createSealer("session ticket", cookieKeys),
    sealer: createSealer("bearer session", cookieKeys),
  });
  const handles = createSealer("session device", cookieKeys);
  const endSessionUrl = (): string | undefined => identityProvider.endSessionUrl;
  return {
    login: createBrowserLogin({ ...parts, sessions, sealer: createSealer("session login", cookieKeys) }),
    url,
    addRoutes(app) {
      addSessionRoutes(app, { ...parts, sessions, endSessionUrl, handles });
    },
    bind: createSessionBind({ ...parts, sessions, addressOf: gate.addressOf }),
  };
}
