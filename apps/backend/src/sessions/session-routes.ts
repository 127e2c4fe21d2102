/** Routes of sessions for programs on a person's machine: JSON in and out, never cached, and the session only in a header. */
import {
  crdNameOf,
  decodeSessionDeviceRequest,
  decodeSessionRequest,
  type SessionDeviceRequest,
  type SessionTemplate,
} from "@klutch/api";
import type { Clock } from "@klutch/kube";
import type { Logger } from "@klutch/telemetry";
import type { Context, Hono } from "hono";
import type { AllowedOffers } from "../authorization/allowed-offers.ts";
import { UserError } from "../errors.ts";
import { bearerOf } from "../login/bearer.ts";
import { choosableBy } from "../login/choosable.ts";
import { createDeviceFlow } from "../login/device-flow.ts";
import { addDeviceFlowRoutes } from "../login/device-routes.ts";
import type { IdentityProvider } from "../login/identity-provider.ts";
import { type Gate, heldOff, jsonAnswer, requestOf } from "../login/open-routes.ts";
import { servicesOf } from "../login/pages/service-groups.ts";
import type { Sealer } from "../sealed-cookie.ts";
import type { Session, Sessions } from "./sessions.ts";

/** Dependencies of the routes. */
export interface SessionRoutes {
  readonly sessions: Sessions;
  readonly offers: Pick<AllowedOffers, "visible" | "unavailable">;
  readonly identityProvider: Pick<IdentityProvider, "beginDevice" | "pollDevice">;
  /** Returns the URL at which a browser also ends the login at the identity provider; undefined if it has none. */
  readonly endSessionUrl: () => string | undefined;
  readonly handles: Sealer;
  readonly clock: Clock;
  readonly gate: Gate;
  readonly logger: Logger;
}

const loginAgain = "Log in again with klutch login.";

/** Adds them. */
export function addSessionRoutes(app: Hono, parts: SessionRoutes): void {
  const { sessions, offers, endSessionUrl, gate, logger } = parts;
  addDeviceLogin(app, parts);
  app.post("/session", (context) =>
    serve(context, parts, async () => {
      const ticket = await requestOf(context, decodeSessionRequest, loginAgain);
      return jsonAnswer(context, 200, { answer: await sessions.issue(ticket, gate.addressOf(context)) });
    }),
  );
  app.post("/logout", (context) =>
    serve(context, parts, async () => {
      const session = await sessionOf(context, sessions);
      await sessions.end(session, gate.addressOf(context));
      const { issuer, subject } = session;
      logger.info("a session was ended", { issuer, subject });
      const url = endSessionUrl();
      const message = "The session has ended.";
      return jsonAnswer(context, 200, { message, ...(url === undefined ? {} : { endSessionUrl: url }) });
    }),
  );
  app.get("/api/templates", (context) =>
    serve(context, parts, async () => {
      const session = await sessionOf(context, sessions);
      const items = await templatesFor(session, offers);
      if (items.length === 0)
        throw new UserError(
          403,
          "There is no API that you may bind here.",
          "Ask the platform operator for the right to bind one.",
        );
      context.header("Cache-Control", "no-store");
      const endsAt = new Date(session.endsAt).toISOString();
      return context.json({
        kind: "TemplateList",
        apiVersion: "klutch.anynines.com/v1alpha1",
        endsAt,
        items,
      });
    }),
  );
}

function addDeviceLogin(app: Hono, parts: SessionRoutes): void {
  const { sessions, identityProvider, handles, clock, gate, logger } = parts;
  const again = "Start again with klutch login --device.";
  addDeviceFlowRoutes(app, {
    path: "/session/device",
    flow: createDeviceFlow<SessionDeviceRequest>({
      identityProvider,
      handles,
      clock,
      again,
      textsOf: ({ loginId, answerKey }) => ({ loginId, answerKey }),
      requestOf: (text) => ({ loginId: text("loginId"), answerKey: text("answerKey") }),
      offerTo: (person, request, address) => sessions.offer(person, request, address),
    }),
    decode: decodeSessionDeviceRequest,
    again,
    about: () => ({}),
    gate,
    logger,
  });
}

/** Answers the call, or with the words of its refusal. */
async function serve(
  context: Context,
  { gate, logger }: Pick<SessionRoutes, "gate" | "logger">,
  call: () => Promise<Response>,
): Promise<Response> {
  const held = heldOff(gate, context);
  if (held !== undefined) return held;
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const { status, message, advice } = error;
    logger.info("a request with a session was refused", {
      path: context.req.path,
      status,
      reason: message,
      ...(error.cause === undefined ? {} : { error: error.cause }),
    });
    if (status === 401) context.header("WWW-Authenticate", "Bearer");
    if (status === 503) context.header("Retry-After", "10");
    return jsonAnswer(context, status, { error: message, advice });
  }
}

async function sessionOf(context: Context, sessions: Pick<Sessions, "open">): Promise<Session> {
  const token = bearerOf(context);
  if (token !== undefined) return sessions.open(token);
  throw new UserError(401, "The request has no session.", "Send the header Authorization: Bearer <session>.");
}

/** Returns the APIs by name, as the page of a login shows them to this person. */
async function templatesFor(
  session: Session,
  allowed: Pick<AllowedOffers, "visible" | "unavailable">,
): Promise<readonly Partial<SessionTemplate>[]> {
  const { offers, unavailable } = await choosableBy(session, allowed);
  const services = servicesOf(offers);
  const nameOf = ({ id, type }: { readonly id: string; readonly type: string }): string =>
    services.filter((one) => one.type === type).length === 1 ? type : id;
  const items = [
    ...offers.map((offer) => ({
      group: offer.group,
      resource: offer.resource,
      kind: offer.kind,
      description: offer.description,
      services: services.filter(({ apis }) => apis.includes(offer)).map(nameOf),
      fields: offer.fields,
      prices: offer.prices ?? [],
      state: "Available" as const,
    })),
    ...unavailable.map(({ group, resource, reason }) => ({
      group,
      resource,
      reason,
      state: "Unavailable" as const,
    })),
  ];
  return items.toSorted((left, right) => crdNameOf(left).localeCompare(crdNameOf(right)));
}
