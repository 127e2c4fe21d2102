/** The routes of the backend: the description of the provider, the login, the binding page and the bind form. */
import { plainText, textAt } from "@klutch/kube-core";
import { type BindingProvider, displayName, klutchVersion, sessionLogin } from "@klutch/api";
import type { Logger } from "@klutch/telemetry";
import { type Context, Hono } from "hono";
import { accepts } from "hono/accepts";
import { bodyLimit } from "hono/body-limit";
import { UserError } from "../errors.ts";
import type { AllowedOffers, Api } from "../authorization/allowed-offers.ts";
import type { Bind, BindSession } from "../provisioning/bind.ts";
import type { ClusterKeyOf } from "../provisioning/cluster-proof.ts";
import type { Confirmation } from "../provisioning/confirmation.ts";
import { isLoopback } from "../secure-url.ts";
import { firstChoice, isChoosing, searchedChoice, submittedChoice } from "./choice-routes.ts";
import type { ClientAddress } from "./client-address.ts";
import { confirmationKeysOf } from "./confirmation-keys.ts";
import { isSessionId, type LoginFlow, type Session } from "./login-flow.ts";
import { largestBody, tooLarge } from "./open-routes.ts";
import { errorPage } from "./pages/error-page.ts";
import { resourcesPage } from "./pages/resources-page.ts";
import type { Markup } from "./pages/layout.ts";
import { startPage } from "./pages/start-page.ts";
import { styleSheet } from "./pages/styles.ts";
import { redirectUrlOf } from "./redirect.ts";
import { securityHeaders } from "./security-headers.ts";
import { wishTextOf } from "./wish.ts";

/** Dependencies of the routes. */
export interface AppOptions {
  readonly prettyName: string;
  readonly login: LoginFlow;
  readonly offers: Pick<AllowedOffers, "visible" | "unavailable">;
  /** Rejects with a `UserError` before a person who may not bind chooses an API. */
  readonly admit?: ((session: BindSession) => void | Promise<void>) | undefined;
  /** Finds the address of a person, for records. Default: it is unknown. */
  readonly addressOf?: ClientAddress | undefined;
  /** Answers a plugin that cannot confirm its login. */
  readonly bind: Bind;
  /** Answers the others. */
  readonly confirmation: Pick<Confirmation, "offer" | "url">;
  /** Refuses logins of plugins that cannot confirm them. */
  readonly requireConfirmation: boolean;
  /** Returns the id of the control plane, or undefined while it is unknown. */
  readonly controlPlaneId: () => string | undefined;
  /** Returns the public URL of /device, or undefined if the identity provider has no such flow. Default: it has none. */
  readonly deviceUrl?: (() => string | undefined) | undefined;
  /** Logins that lead to a session, and the public URL of /session. Default: there are none. */
  readonly sessions?: { readonly login: SessionLogins; readonly url: string } | undefined;
  /** Public URL of /authorize; default: beside /callback. */
  readonly authorizeUrl: string | undefined;
  /** Public URL of /callback. */
  readonly callbackUrl: string;
  readonly allowedRedirects: readonly string[];
  /** True if browsers reach the backend over TLS. */
  readonly secure: boolean;
  readonly logger: Logger;
  /** The public key of the app cluster that the query of a login proves; undefined when it proves none. */
  readonly clusterKeyOf?: ClusterKeyOf | undefined;
  /** Logins of the console. Default: there is none. */
  readonly console?: Pick<SessionLogins, "finish"> | undefined;
  /** Middleware around all others. */
  readonly before?: ((app: Hono) => void) | undefined;
  /** Further routes. */
  readonly extend?: ((app: Hono) => void) | undefined;
}

/** Logins in a browser that lead to a session. Both throw `UserError`. */
export interface SessionLogins {
  /** Binds the login to this browser; returns the identity provider's URL. */
  begin(context: Context): Promise<string>;
  /** Returns the URL of the plugin, with the offer; undefined if the callback is of a login that binds. */
  finish(context: Context, address: string | undefined): Promise<string | undefined>;
}

/** The application; `fetch` serves it. */
export function createApp(options: AppOptions): Hono {
  // People type a slash at the end, too.
  const app = new Hono({ strict: false });
  options.before?.(app);
  app.use(securityHeaders());
  app.use(bodyLimit({ maxSize: largestBody, onError: tooLarge }));
  app.onError((error, context) => errorAnswer(options, error, context));
  app.notFound((context) =>
    context.html(errorPage(options.prettyName, "This page does not exist.", "Start with kubectl bind."), 404),
  );
  app.get("/style.css", (context) => {
    context.header("Cache-Control", "max-age=3600");
    return context.body(styleSheet, 200, { "content-type": "text/css; charset=utf-8" });
  });
  app.get("/", (context) => context.html(startPageOf(options, context)));
  app.get("/export", (context) => {
    context.header("Vary", "Accept");
    const wanted = accepts(context, { header: "Accept", supports: [json, page], default: json });
    return wanted === page
      ? context.html(startPageOf(options, context))
      : context.json(bindingProvider(options, context));
  });
  addLoginRoutes(app, options);
  addBindRoutes(app, options);
  options.extend?.(app);
  return app;
}

/** Types that /export has: the plugin reads JSON, and browsers ask for a page. */
const [json, page] = ["application/json", "text/html"] as const;

function startPageOf(options: AppOptions, context: Context): Markup {
  const url = new URL(authorizeUrlOf(options, context));
  url.pathname = url.pathname.replace(/\/authorize$/, "/export");
  return startPage(options.prettyName, url.href);
}

function addLoginRoutes(app: Hono, options: AppOptions): void {
  app.get("/authorize", async (context) => {
    const query = context.req.query();
    const { t: kind } = query;
    if (kind !== undefined) return context.redirect(await beginSessionLogin(options, context, kind));
    // Before anything else: for a redirect that is not allowed, nothing is created and no one is sent to the login.
    const redirectUrl = redirectUrlOf(query, options.allowedRedirects);
    const { s: sessionId, c: clusterId } = query;
    if (!isSessionId(sessionId) || !isClusterId(clusterId)) {
      throw new UserError(
        400,
        "The query needs s (a session id) and c (a cluster id).",
        "Start with kubectl bind.",
      );
    }
    const keys = await confirmationKeysOf(query);
    if (keys === undefined && options.requireConfirmation) throw tooOld();
    const proven =
      keys === undefined ? await options.clusterKeyOf?.(query, { sessionId, clusterId }) : undefined;
    const clusterName = displayName(query["n"]);
    const wish = wishTextOf(query, redirectUrl);
    const request = { redirectUrl, sessionId, clusterId, clusterName, wish, ...keys, ...proven };
    return context.redirect(await options.login.begin(context, request));
  });
  app.get("/callback", async (context) => {
    const address = options.addressOf?.(context);
    const back =
      (await options.sessions?.login.finish(context, address)) ??
      (await options.console?.finish(context, address));
    if (back !== undefined) {
      noStore(context);
      return context.redirect(back);
    }
    const session = await options.login.finish(context);
    return context.redirect(`/resources?s=${encodeURIComponent(session.sessionId)}`);
  });
}

function beginSessionLogin(
  { sessions }: Pick<AppOptions, "sessions">,
  context: Context,
  kind: string,
): Promise<string> {
  if (sessions !== undefined && kind === sessionLogin) return sessions.login.begin(context);
  throw new UserError(
    400,
    sessions === undefined
      ? "This provider issues no sessions."
      : `t=${plainText(kind, 80)} is not known; it must be ${sessionLogin}, or absent.`,
    "Use kubectl bind, which logs in each time.",
  );
}

function addBindRoutes(app: Hono, options: AppOptions): void {
  app.get("/resources", async (context) => {
    const session = await options.login.session(context, context.req.query("s"));
    await options.admit?.(withAddress(options, context, session));
    noStore(context);
    if (isChoosing(session)) return context.html(await firstChoice(options, session));
    const offers = await options.offers.visible(session);
    return context.html(resourcesPage({ prettyName: options.prettyName, session, offers }));
  });
  // The search of a page with several choices. It binds nothing.
  app.post("/resources", async (context) => {
    const form = await context.req.parseBody({ all: true });
    const session = await options.login.session(context, textAt(form, "s"));
    await options.admit?.(withAddress(options, context, session));
    noStore(context);
    if (isChoosing(session)) return context.html(await searchedChoice(options, session, form));
    return context.redirect(`/resources?s=${encodeURIComponent(session.sessionId)}`, 303);
  });
  // For links of the existing page: they lead to a button, because a link may be followed without the person's will.
  app.get("/bind", async (context) => {
    const site = context.req.header("sec-fetch-site") ?? "none";
    if (site !== "none" && site !== "same-origin") {
      throw new UserError(
        403,
        "Another site tried to bind an API in your name.",
        "Use the page that kubectl bind opened.",
      );
    }
    const session = await options.login.session(context, context.req.query("s"));
    await options.admit?.(withAddress(options, context, session));
    noStore(context);
    const { resource = "", group = "" } = context.req.query();
    const visible = await options.offers.visible(session);
    const offers = visible.filter((one) => one.resource === resource && one.group === group);
    return context.html(resourcesPage({ prettyName: options.prettyName, session, offers }));
  });
  app.post("/bind", async (context) => {
    const form = await context.req.parseBody({ all: true });
    const session = await options.login.session(context, textAt(form, "s"));
    if (textAt(form, "csrf") !== session.csrf) {
      throw new UserError(
        403,
        "The form does not belong to your session.",
        "Go back, reload the page and choose again.",
      );
    }
    const chosen = await submittedChoice(options, session, form);
    if (!("page" in chosen)) return answerBind(options, context, session, chosen);
    noStore(context);
    return context.html(chosen.page, chosen.problem.status);
  });
}

async function answerBind(
  options: AppOptions,
  context: Context,
  session: Session,
  apis: readonly Api[],
): Promise<Response> {
  noStore(context);
  const { answerKey, offeredKey, clusterKey, proofId = "" } = session;
  const url = new URL(session.redirectUrl);
  if (answerKey !== undefined && offeredKey !== undefined) {
    url.searchParams.set(
      "offer",
      await options.confirmation.offer(
        { ...withAddress(options, context, session), answerKey, offeredKey },
        apis,
      ),
    );
  } else {
    if (options.requireConfirmation) throw tooOld();
    const proof = clusterKey === undefined ? undefined : { id: proofId, confirms: false };
    const asker = { ...withAddress(options, context, session), way: "redirect", proof } as const;
    url.searchParams.set("response", await options.bind(asker, apis));
  }
  return context.redirect(url.href, 303);
}

function withAddress({ addressOf }: AppOptions, context: Context, session: Session): Session & BindSession {
  return { ...session, address: addressOf?.(context) };
}

function bindingProvider(options: AppOptions, context: Context): BindingProvider {
  const authenticatedURL = authorizeUrlOf(options, context);
  const controlPlaneId = options.controlPlaneId();
  const deviceUrl = options.deviceUrl?.();
  return {
    kind: "BindingProvider",
    apiVersion: "v1alpha1",
    providerPrettyName: options.prettyName,
    version: klutchVersion,
    authenticationMethods: [{ method: "OAuth2CodeGrant", oauth2CodeGrant: { authenticatedURL } }],
    confirmUrl: options.confirmation.url,
    severalApis: true,
    ...(deviceUrl === undefined ? {} : { deviceUrl }),
    ...(options.sessions === undefined ? {} : { sessionUrl: options.sessions.url }),
    ...(controlPlaneId === undefined ? {} : { controlPlaneId }),
  };
}

/**
 * Returns the configured URL. Default: beside /callback, because the browser must find the cookie of the login there; on this machine at the
 * host that was asked, which may be a forwarded port. No other host is believed.
 */
function authorizeUrlOf({ authorizeUrl, callbackUrl, secure }: AppOptions, context: Context): string {
  if (authorizeUrl !== undefined) return authorizeUrl;
  const asked = `${secure ? "https" : "http"}://${context.req.header("host") ?? ""}/authorize`;
  if (URL.canParse(asked) && isLoopback(new URL(asked))) return new URL("/authorize", asked).href;
  return new URL("authorize", callbackUrl).href;
}

function tooOld(): UserError {
  return new UserError(
    400,
    "This provider takes no logins of this kubectl bind, because it cannot confirm them.",
    "Install a current kubectl bind of Klutch, then start again.",
  );
}

function errorAnswer(options: AppOptions, error: Error, context: Context): Response | Promise<Response> {
  noStore(context);
  if (error instanceof UserError) {
    const { status, message: reason, cause } = error;
    options.logger.info("request refused", {
      path: context.req.path,
      status,
      reason,
      ...(cause === undefined ? {} : { error: cause }),
    });
    return context.html(errorPage(options.prettyName, error.message, error.advice), error.status);
  }
  options.logger.error("request failed", { path: context.req.path, error });
  return context.html(
    errorPage(
      options.prettyName,
      "The backend failed.",
      "Try again. If it fails again, ask the platform operator.",
    ),
    500,
  );
}

function isClusterId(value: string | undefined): value is string {
  return value !== undefined && /^[\w-]{1,64}$/.test(value);
}

function noStore(context: Context): void {
  context.header("Cache-Control", "no-cache, no-store, must-revalidate, max-age=0");
}
