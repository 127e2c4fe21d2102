/** `POST /device` and `POST /device/poll`, and the same below `/session`: a plugin on a machine without a browser. Neither codes nor handles are logged. */
import { decodeDeviceLoginRequest, decodeDevicePollRequest } from "@klutch/api";
import type { Logger } from "@klutch/telemetry";
import type { Context, Hono } from "hono";
import { UserError } from "../errors.ts";
import type { DeviceFlow } from "./device-flow.ts";
import { createDeviceLogins, type DeviceLoginParts } from "./device-login.ts";
import { type Gate, heldOff, jsonAnswer, requestOf } from "./open-routes.ts";

/** Parts of the two routes of one flow. */
export interface DeviceRoutes<R> {
  /** Path of the first request; polls go to `/poll` below it. */
  readonly path: string;
  readonly flow: DeviceFlow<R>;
  readonly decode: (body: unknown) => R;
  /** Next step after a refusal of a request. */
  readonly again: string;
  /** Returns what the log says of a request. */
  readonly about: (request: R) => Readonly<Record<string, string>>;
  readonly gate: Gate;
  readonly logger: Logger;
}

/** Adds the routes of logins that bind APIs. */
export function addDeviceRoutes(
  app: Hono,
  parts: DeviceLoginParts & { readonly gate: Gate; readonly logger: Logger },
): void {
  addDeviceFlowRoutes(app, {
    path: "/device",
    flow: createDeviceLogins(parts),
    decode: decodeDeviceLoginRequest,
    again: "Start again with kubectl bind --device.",
    about: ({ clusterId }) => ({ clusterId }),
    gate: parts.gate,
    logger: parts.logger,
  });
}

/** Adds the routes of a flow. Refusals say why, as at /confirm. */
export function addDeviceFlowRoutes<R>(app: Hono, parts: DeviceRoutes<R>): void {
  const { path, flow, decode, again, about, gate, logger } = parts;
  app.post(path, async (context) => {
    const held = heldOff(gate, context);
    if (held !== undefined) return held;
    try {
      const request = await requestOf(context, decode, again);
      const started = await flow.start(request);
      logger.info("a login on another device has begun", about(request));
      return numberedAnswer(context, 200, { ...started });
    } catch (error) {
      return refusal(context, logger, error);
    }
  });
  app.post(`${path}/poll`, async (context) => {
    const held = heldOff(gate, context);
    if (held !== undefined) return held;
    try {
      const answer = await flow.poll(
        await requestOf(context, decodeDevicePollRequest, again),
        gate.addressOf(context),
      );
      if (answer.kind === "pending")
        return numberedAnswer(context, 202, {
          message: "No one has logged in with the code yet.",
          interval: answer.interval,
          handle: answer.handle,
        });
      if (answer.kind === "tooFast") return tooFast(context, answer.retryAfterSeconds);
      const { issuer, subject } = answer.person;
      logger.info("a login on another device was approved", { issuer, subject });
      return jsonAnswer(context, 200, { offer: answer.offer });
    } catch (error) {
      return refusal(context, logger, error);
    }
  });
}

function numberedAnswer(
  context: Context,
  status: 200 | 202,
  body: Readonly<Record<string, string | number | undefined>>,
): Response {
  context.header("Cache-Control", "no-store");
  return context.json(body, status);
}

function tooFast(context: Context, seconds: number): Response {
  context.header("Retry-After", String(seconds));
  return jsonAnswer(context, 429, {
    error: `The poll came too early; the next one may come in ${seconds} s.`,
    advice: "Wait as long as the interval says.",
  });
}

function refusal(context: Context, logger: Logger, error: unknown): Response {
  if (!(error instanceof UserError)) throw error;
  const { status, message, advice } = error;
  logger.info("a login on another device was refused", { status, reason: message });
  if (status === 503) context.header("Retry-After", "10");
  return jsonAnswer(context, status, { error: message, advice });
}
