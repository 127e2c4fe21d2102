/** Routes of the console: its pages, the login, and the JSON that the pages read. */
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { type Collection, collections, type Explanation, type InstanceRow } from "@klutch/overview";
import type { Logger } from "@klutch/telemetry";
import type { Context, Hono } from "hono";
import { UserError } from "../errors.ts";
import { type Gate, heldOff } from "../login/open-routes.ts";
import type { Session } from "../sessions/sessions.ts";
import type { Assets } from "./assets.ts";
import type { Board, Texts } from "./board.ts";
import { nonceOf } from "./headers.ts";
import { type ConsoleLogin, consolePath } from "./login.ts";
import type { RightsOf } from "./rights.ts";
import { type Streams, wordsOf } from "./streams.ts";

/** Dependencies of the routes. */
export interface ConsoleRoutes {
  readonly assets: Assets;
  readonly login: ConsoleLogin;
  readonly rightsOf: RightsOf;
  readonly board: Board;
  readonly streams: Streams;
  readonly explain: (row: InstanceRow) => Promise<Explanation>;
  readonly gate: Gate;
  readonly logger: Logger;
}

const zipped = promisify(gzip);

/** Adds them. */
export function addConsoleRoutes(app: Hono, parts: ConsoleRoutes): void {
  const { login, rightsOf, board, streams, explain, gate } = parts;
  const api = (path: string, call: (context: Context, session: Session) => Promise<Response>): void =>
    void app.get(`/console/api/${path}`, (context) =>
      answered(context, parts, async () => call(context, await login.session(context))),
    );
  api("viewer", async (context, session) => context.json((await rightsOf(session)).viewer));
  api("rows/:collection", async (context, session) => {
    const name = collectionOf(context.req.param("collection") ?? "");
    const rights = await rightsOf(session);
    if (!rights.viewer.collections.includes(name))
      throw new UserError(403, `You may not read ${name}.`, "Ask the platform operator for the right.");
    return rowsAnswer(context, name, board.visible(name, rights));
  });
  api("explain", async (context, session) => {
    const { api: kind = "", tenant, namespace = "", name = "" } = context.req.query();
    const rows = board.claimsOf(await rightsOf(session), { api: kind, namespace, name });
    const found = rows.filter((row) => tenant === undefined || row.tenant === tenant);
    const [row] = found;
    if (row === undefined || found.length > 1)
      throw new UserError(
        404,
        "There is no such claim among those that you may see.",
        "Choose one from the list of instances.",
      );
    return context.json(await explain(row));
  });
  api("changes", async (context, session) => {
    const stream = streams.open(session, await rightsOf(session));
    context.header("Content-Type", "text/event-stream");
    // Proxies that collect answers would hold the events back.
    context.header("X-Accel-Buffering", "no");
    return context.body(stream);
  });
  app.all("/console/api/*", (context) =>
    answered(context, parts, () =>
      Promise.reject(new UserError(404, "The console has no such address.", "Reload the page.")),
    ),
  );
  app.get(
    "/console/login",
    async (context) => heldOff(gate, context) ?? context.redirect(await login.begin(context)),
  );
  app.post("/console/logout", (context) =>
    answered(context, parts, async () => {
      checkOwnSite(context, { tried: "log you out", advice: "Log out in the console itself." });
      await login.end(context, gate.addressOf(context));
      return context.json({ message: "The session has ended." });
    }),
  );
  addPages(app, parts);
}

/** Answers the call, or with the words of its refusal. */
export async function answered(
  context: Context,
  { logger }: Pick<ConsoleRoutes, "logger">,
  call: () => Promise<Response>,
): Promise<Response> {
  context.header("Cache-Control", "no-store");
  try {
    return await call();
  } catch (error) {
    const { path } = context.req;
    if (!(error instanceof UserError)) {
      logger.error("request failed", { path, error });
      return context.json(wordsOf(error), 500);
    }
    const { status, message: reason, cause } = error;
    logger.info("request refused", {
      path,
      status,
      reason,
      ...(cause === undefined ? {} : { error: cause }),
    });
    if (status === 503) context.header("Retry-After", "10");
    return context.json(wordsOf(error), status);
  }
}

/** Returns the collection. Throws `UserError` 404 for another name. */
export function collectionOf(name: string): Collection {
  const found = collections.find((one) => one === name);
  if (found !== undefined) return found;
  throw new UserError(404, "There is no such collection.", `It must be one of ${collections.join(", ")}.`);
}

interface Body {
  readonly text: string;
  readonly etag: string;
  zip: Promise<Uint8Array<ArrayBuffer>> | undefined;
}

/** Answers that many ask for are made once. */
const bodies = new WeakMap<Texts, Body>();

function bodyOf(name: Collection, texts: Texts): Body {
  const known = bodies.get(texts);
  if (known !== undefined) return known;
  const text = `{"collection":${JSON.stringify(name)},"rows":[${[...texts.values()].join()}]}`;
  const etag = `W/"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`;
  const body: Body = { text, etag, zip: undefined };
  bodies.set(texts, body);
  return body;
}

async function rowsAnswer(context: Context, name: Collection, texts: Texts): Promise<Response> {
  const body = bodyOf(name, texts);
  context.header("Cache-Control", "private, no-cache");
  context.header("ETag", body.etag);
  context.header("Vary", "Cookie, Accept-Encoding");
  if (context.req.header("if-none-match") === body.etag) return context.body(null, 304);
  context.header("Content-Type", "application/json");
  if (!/\bgzip\b/.test(context.req.header("accept-encoding") ?? "")) return context.body(body.text);
  context.header("Content-Encoding", "gzip");
  body.zip ??= zipped(body.text, { level: 4 }).then((bytes) => new Uint8Array(bytes));
  return context.body(await body.zip);
}

/** Throws `UserError` 403 for a request that no page of this server made. */
export function checkOwnSite(
  context: Context,
  { tried, advice }: { readonly tried: string; readonly advice: string },
): void {
  const site = context.req.header("sec-fetch-site");
  const origin = context.req.header("origin") ?? "";
  const isOwn =
    site === undefined
      ? URL.canParse(origin) && new URL(origin).host === context.req.header("host")
      : site === "same-origin";
  if (isOwn) return;
  throw new UserError(403, `Another site tried to ${tried}.`, advice);
}

function addPages(app: Hono, { assets }: Pick<ConsoleRoutes, "assets">): void {
  const page = (context: Context): Response | Promise<Response> => {
    context.header("Cache-Control", "no-store");
    return context.html(assets.page.replaceAll("__CSP_NONCE__", nonceOf(context)));
  };
  // Addresses of the page's files are relative to it; the router takes both for one.
  app.get("/console", (context) =>
    new URL(context.req.url).pathname.endsWith("/") ? page(context) : context.redirect(consolePath, 302),
  );
  app.get("/console/*", (context) => {
    const name = context.req.path.slice(consolePath.length);
    const asset = assets.files.get(name);
    if (asset === undefined) return /\.\w+$/.test(name) ? context.notFound() : page(context);
    const isHashed = name.startsWith("assets/");
    context.header("Cache-Control", isHashed ? "public, max-age=31536000, immutable" : "no-cache");
    context.header("ETag", asset.etag);
    if (context.req.header("if-none-match") === asset.etag) return context.body(null, 304);
    context.header("Content-Type", asset.type);
    return context.body(asset.body);
  });
}
