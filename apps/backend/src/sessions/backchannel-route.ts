/** `POST /backchannel-logout`: the identity provider says that a person has logged out there, and all their sessions here end. */
import { textAt } from "@klutch/kube-core";
import type { Clock } from "@klutch/kube";
import type { Logger } from "@klutch/telemetry";
import type { Hono } from "hono";
import { type Audit, recordRefusal, silentAudit } from "../audit/audit.ts";
import { UserError } from "../errors.ts";
import type { IdentityProvider } from "../login/identity-provider.ts";
import { type Gate, heldOff, jsonAnswer } from "../login/open-routes.ts";
import type { EndedSessions } from "./ended-sessions.ts";

/** Dependencies of the route. */
export interface BackchannelParts {
  readonly identityProvider: Pick<IdentityProvider, "logout">;
  readonly ended: Pick<EndedSessions, "endAll">;
  readonly lifetimeSeconds: number;
  readonly clock: Clock;
  readonly gate: Gate;
  readonly logger: Logger;
  /** Default: nothing is recorded. */
  readonly audit?: Audit | undefined;
}

/** Adds it. The statuses are those of the specification: 200, or 400; 503 while it cannot be done, so that the provider may repeat it. */
export function addBackchannelRoute(app: Hono, parts: BackchannelParts): void {
  const { identityProvider, ended, lifetimeSeconds, clock, gate, logger, audit = silentAudit } = parts;
  app.post("/backchannel-logout", async (context) => {
    const held = heldOff(gate, context);
    if (held !== undefined) return held;
    try {
      const token = textAt(await context.req.parseBody(), "logout_token");
      if (token === undefined)
        throw new UserError(
          400,
          "The form has no logout_token.",
          "Send it as OpenID Connect Back-Channel Logout 1.0 says.",
        );
      const { at, ...person } = await identityProvider.logout(token);
      const now = clock.now();
      const asker = { ...person, way: "session", address: gate.addressOf(context) } as const;
      // A token that is repeated ends no session that began after it.
      const times = { before: Math.min(now, at), until: now + lifetimeSeconds * 1000 };
      await recordRefusal(audit, { decision: "logout", asker }, () => ended.endAll(person, times));
      audit.record({ decision: "logout", allowed: true, outcome: "LoggedOutAtProvider", asker });
      logger.info("a person logged out at the identity provider", { ...person });
      context.header("Cache-Control", "no-store");
      return context.body(null, 200);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      const { status, message, advice } = error;
      logger.info("a logout of the identity provider was refused", { status, reason: message });
      return jsonAnswer(context, status === 503 ? 503 : 400, { error: message, advice });
    }
  });
}
