/**
 * `POST /bind-noninteractive`: a program with an access token binds APIs in one request, without a browser. The same request may come several times
 * at once, and always leads to the same tenant. Callers retry 429 and 5xx and give up on all else, so the statuses are chosen by that.
 */
import { type BindingResponse, decodeNoninteractiveBind, sessionPrefix } from "@klutch/api";
import type { Logger } from "@klutch/telemetry";
import type { Context, Hono } from "hono";
import { UserError } from "../errors.ts";
import type { Respond } from "../provisioning/bind.ts";
import type { ClientPerson } from "./access-token.ts";
import { bearerOf } from "./bearer.ts";
import { type Gate, heldOff, jsonAnswer, requestOf } from "./open-routes.ts";

/** The CLI of a9s appends the name to the URL that people know, whatever its path is. */
const paths = ["/bind-noninteractive", "/exports/bind-noninteractive", "/export/bind-noninteractive"];
const shape = 'Send {"clusterID": "…", "apis": [{"group": "…", "resource": "…"}]}.';

/** Adds the route under its three paths. */
export function addNoninteractiveRoute(
  app: Hono,
  parts: {
    /** Returns the program of an access token; rejects with a `UserError`. Undefined if this way is closed. */
    readonly program: ((token: string) => Promise<ClientPerson | undefined>) | undefined;
    readonly respond: Respond;
    /** Binds for the person of a session, which is no access token. Default: no session counts. */
    readonly withSession?: ((context: Context, session: string) => Promise<BindingResponse>) | undefined;
    readonly gate: Gate;
    readonly logger: Logger;
  },
): void {
  const { respond, gate, logger } = parts;
  const serve = async (context: Context): Promise<Response> => {
    const held = heldOff(gate, context);
    if (held !== undefined) return held;
    let client: string | undefined;
    try {
      const { withSession } = parts;
      const token = bearerOf(context);
      if (withSession !== undefined && token?.startsWith(sessionPrefix) === true)
        return answerOf(context, await withSession(context, token));
      const person = await programOf(parts.program, context);
      ({ client } = person);
      const {
        clusterId,
        clusterName = clusterId,
        apis,
      } = await requestOf(context, decodeNoninteractiveBind, shape);
      const address = gate.addressOf(context);
      const session = { ...person, clusterId, clusterName, sessionId: "ci", way: "ci", address } as const;
      const response = await respond(session, apis);
      logger.info("a program bound APIs", { client, clusterId, apis: apis.length });
      return answerOf(context, response);
    } catch (error) {
      return refusalOf(context, logger, client === undefined ? {} : { client }, error);
    }
  };
  for (const path of paths) app.post(path, serve);
}

async function programOf(
  program: ((token: string) => Promise<ClientPerson | undefined>) | undefined,
  context: Context,
): Promise<ClientPerson> {
  const closed = new UserError(
    404,
    "This provider lets no program bind without a browser.",
    "Ask the platform operator to name your client in --ci-clients, or use kubectl bind.",
  );
  if (program === undefined) throw closed;
  const person = await program(tokenOf(context));
  if (person === undefined) throw closed;
  return person;
}

/** Returns the token of the request. Throws `UserError` 401 without one. */
export function tokenOf(context: Context): string {
  const token = bearerOf(context);
  if (token !== undefined) return token;
  throw new UserError(
    401,
    "The request has no access token.",
    "Send the header Authorization: Bearer <access token>.",
  );
}

/** Answers 200, the only status that callers take for success. */
export function answerOf(context: Context, response: BindingResponse): Response {
  context.header("Cache-Control", "no-store");
  return context.json(response, 200);
}

/** Answers an error, and logs it with the fields `by` that say who asked. */
export function refusalOf(
  context: Context,
  logger: Logger,
  by: Readonly<Record<string, string>>,
  error: unknown,
): Response {
  if (!(error instanceof UserError)) {
    logger.error("a bind of a program failed", { ...by, error });
    return jsonAnswer(context, 500, { error: "The backend failed.", advice: "Try again." });
  }
  const status = statusOf(error);
  const { message, advice } = error;
  logger.info("a bind of a program was refused", { ...by, status, reason: message });
  if (status === 401) context.header("WWW-Authenticate", "Bearer");
  if (status === 503) context.header("Retry-After", "10");
  return jsonAnswer(context, status, { error: message, advice });
}

/** A tenant too many is final for a program, and one that is being deleted is not. */
function statusOf({ status, passes }: UserError): UserError["status"] {
  if (passes) return 503;
  return status === 429 ? 403 : status;
}
