/**
 * `POST /renew/challenge` and `POST /renew`: how a konnector without a valid credential comes back. Every refusal is the same answer,
 * so that a stranger learns neither which tenants exist nor which have a key; the log says why.
 */
import { decodeRenewalRequest } from "@klutch/api";
import type { Logger } from "@klutch/telemetry";
import type { Hono } from "hono";
import { type Audit, recordRefusal, silentAudit } from "../audit/audit.ts";
import type { Renewal } from "../provisioning/renewal.ts";
import { bodyOf, type Gate, heldOff, jsonAnswer } from "./open-routes.ts";

/** Adds the routes. */
export function addRenewalRoutes(
  app: Hono,
  parts: {
    readonly renewal: Renewal;
    readonly gate: Gate;
    readonly logger: Logger;
    /** Default: nothing is recorded. */
    readonly audit?: Audit | undefined;
  },
): void {
  const { renewal, gate, logger, audit = silentAudit } = parts;
  app.post("/renew/challenge", async (context) => {
    const held = heldOff(gate, context);
    if (held !== undefined) return held;
    return jsonAnswer(context, 200, { challenge: await renewal.challenge(), url: renewal.url });
  });
  app.post("/renew", async (context) => {
    const held = heldOff(gate, context);
    if (held !== undefined) return held;
    const request = await bodyOf(context, decodeRenewalRequest);
    const subject = {
      decision: "renew",
      asker: { address: gate.addressOf(context) },
      way: "renewal",
      tenant: request?.namespace,
    } as const;
    const outcome =
      request === undefined
        ? ({ kind: "refused", why: "malformed" } as const)
        : await recordRefusal(audit, subject, () => renewal.renew(request));
    const word = outcome.kind === "renewed" ? "Renewed" : wordOf(outcome.why);
    audit.record({ ...subject, allowed: outcome.kind === "renewed", outcome: word });
    if (outcome.kind === "refused") {
      logger.info("a renewal was refused", { namespace: request?.namespace ?? "", why: outcome.why });
      return jsonAnswer(context, 403, { error: "refused" });
    }
    logger.info("renewed the credential of an app cluster", { namespace: request?.namespace ?? "" });
    return jsonAnswer(context, 200, { kubeconfig: Buffer.from(outcome.kubeconfig).toString("base64") });
  });
}

/** Words of records begin with a capital letter. */
function wordOf(why: string): string {
  return why.charAt(0).toUpperCase() + why.slice(1);
}
