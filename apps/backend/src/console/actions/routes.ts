/** Routes of the actions. Each confirmation is a POST with JSON of a page of this server. */
import type { Logger } from "@klutch/telemetry";
import type { Hono } from "hono";
import { UserError } from "../../errors.ts";
import { type Gate, heldOff, requestOf } from "../../login/open-routes.ts";
import type { ConsoleLogin } from "../login.ts";
import { answered, checkOwnSite, collectionOf } from "../routes.ts";
import { actionNameOf, actionRequest } from "./action-request.ts";
import type { Actions } from "./actions.ts";

/** Dependencies of the routes. */
export interface ActionRoutes {
  readonly actions: Actions;
  readonly login: Pick<ConsoleLogin, "session">;
  readonly gate: Gate;
  readonly logger: Logger;
}

const inTheConsole = "Use the button in the console. Nothing was changed.";

/** Adds them; before the other routes of the console, which answer for all other paths. */
export function addActionRoutes(app: Hono, parts: ActionRoutes): void {
  const { actions, login, gate } = parts;
  app.get("/console/api/actions", (context) => {
    // Each is some requests to the API server.
    const held = heldOff(gate, context);
    if (held !== undefined) return held;
    return answered(context, parts, async () => {
      const session = await login.session(context);
      const { collection = "", row = "" } = context.req.query();
      return context.json({ actions: await actions.offered(session, collectionOf(collection), row) });
    });
  });
  app.post("/console/actions/:name", (context) => {
    const held = heldOff(gate, context);
    if (held !== undefined) return held;
    return answered(context, parts, async () => {
      checkOwnSite(context, { tried: "act in your name", advice: inTheConsole });
      if (context.req.header("content-type")?.split(";")[0]?.trim() !== "application/json")
        throw new UserError(400, "The body must be of the type application/json.", inTheConsole);
      const session = await login.session(context);
      const name = actionNameOf(context.req.param("name"));
      if (name === undefined) throw new UserError(404, "The console has no such action.", inTheConsole);
      const request = await requestOf(context, actionRequest, inTheConsole);
      return context.json(await actions.act(session, name, request, gate.addressOf(context)));
    });
  });
  app.all("/console/actions/*", (context) =>
    answered(context, parts, () => Promise.reject(new UserError(404, "An action is a POST.", inTheConsole))),
  );
}
