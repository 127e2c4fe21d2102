/** `POST /confirm`: the last step of a login, which the plugin takes without the browser. Only then there is a tenant and a credential. */
import { decodeLoginConfirmation } from "@klutch/api";
import type { Logger } from "@klutch/telemetry";
import type { Hono } from "hono";
import { UserError } from "../errors.ts";
import type { Confirmation } from "../provisioning/confirmation.ts";
import { bodyOf, type Gate, heldOff, jsonAnswer } from "./open-routes.ts";

/** Adds the route. Refusals say why: who holds a ticket has logged in. */
export function addConfirmRoute(
  app: Hono,
  parts: { readonly confirmation: Confirmation; readonly gate: Gate; readonly logger: Logger },
): void {
  const { confirmation, gate, logger } = parts;
  app.post("/confirm", async (context) => {
    const held = heldOff(gate, context);
    if (held !== undefined) return held;
    const request = await bodyOf(context, decodeLoginConfirmation);
    try {
      if (request === undefined)
        throw new UserError(
          400,
          "The body is not ticket, challenge and signature.",
          "Start again with kubectl bind.",
        );
      return jsonAnswer(context, 200, {
        answer: await confirmation.complete(request, { address: gate.addressOf(context) }),
      });
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      const { status, message, advice } = error;
      logger.info("a confirmation of a login was refused", { status, reason: message });
      return jsonAnswer(context, status, { error: message, advice });
    }
  });
}
