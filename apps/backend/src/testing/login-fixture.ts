/** The backend's HTTP side on loopback, with the identity provider that a test gives it. */
import { serve } from "@hono/node-server";
import { systemClock } from "@klutch/kube";
import { textAt } from "@klutch/kube-core";
import { type Logger, Secret, silentLogger } from "@klutch/telemetry";
import type { Hono } from "hono";
import { type AppOptions, createApp } from "../login/app.ts";
import { LoginFlow } from "../login/login-flow.ts";
import type { BindSession } from "../provisioning/bind.ts";
import { createSealer } from "../sealed-cookie.ts";
import type { UnavailableApi } from "../export-templates.ts";
import type { OfferedApi } from "../offered-api.ts";
import { IdentityProvider } from "../login/identity-provider.ts";
import type { ClusterKeyOf } from "../provisioning/cluster-proof.ts";
import type { OidcClient } from "./identity-provider.ts";

/** Fixture of the tests. */
export interface LoginFixture extends AsyncDisposable {
  readonly url: string;
  readonly issuer: string;
  /** Every call of the bind function. */
  readonly bound: { readonly session: BindSession; readonly resource: string; readonly group: string }[];
  /** Logout tokens that the identity provider sent. */
  readonly logoutTokens: readonly string[];
  /** Another replica of the backend behind the same URL. */
  readonly otherReplica: (request: Request) => Promise<Response>;
}

/** Options of `startLoginFixture`. */
export interface LoginFixtureOptions {
  /** Issuer of the backend, or a function that starts it when it needs to know the backend first. */
  readonly issuer: string | ((stack: AsyncDisposableStack, client: OidcClient) => Promise<string>);
  readonly offers?: readonly OfferedApi[] | undefined;
  readonly unavailable?: readonly UnavailableApi[] | undefined;
  readonly allowedRedirects?: readonly string[] | undefined;
  readonly logger?: Logger | undefined;
  /** Default: a free one. */
  readonly port?: number | undefined;
  readonly clusterKeyOf?: ClusterKeyOf | undefined;
  readonly admit?: AppOptions["admit"];
}

/** The backend as its identity provider knows it. */
export const oidcClient = { id: "klutch", secret: "a-client-secret-of-the-tests" } as const;

/** One API with a claim. */
export const sampleOffer: OfferedApi = {
  resource: "databases",
  group: "example.org",
  kind: "Database",
  scope: "Namespaced",
  description: "A database with its own user.",
  fields: [{ name: "plan", about: "The plan: small (1 GiB), big (<10 GiB>)." }],
  permissionClaims: [
    {
      group: "",
      resource: "secrets",
      version: "v1",
      required: true,
      selector: { owner: "Provider", fieldSelectors: ["type=Opaque", "metadata.labels.credentials=true"] },
    },
  ],
  template: { namespace: "default", name: "databases" },
};

/** Answer of the recorded bind function, with characters that a careless URL would lose. */
export const sampleResponse = "ab+/cd==";

export async function startLoginFixture(options: LoginFixtureOptions): Promise<LoginFixture> {
  await using stack = new AsyncDisposableStack();
  // The port must be known before the application that is served there can be made.
  const served: { app?: Hono } = {};
  const handle = (request: Request): Response | Promise<Response> =>
    served.app?.fetch(request) ?? new Response("not ready");
  const { promise: listening, resolve } = Promise.withResolvers<number>();
  const server = serve({ fetch: handle, hostname: "127.0.0.1", port: options.port ?? 0 }, ({ port }) =>
    resolve(port),
  );
  stack.defer(() => void server.close());
  const url = `http://127.0.0.1:${await listening}`;
  const callbackUrl = `${url}/callback`;
  const issuer =
    typeof options.issuer === "string"
      ? options.issuer
      : await options.issuer(stack, { ...oidcClient, callbackUrl });
  const bound: LoginFixture["bound"] = [];
  const logoutTokens: string[] = [];
  const cookieKeys = { signing: new Secret(Buffer.alloc(32, 7)), encryption: undefined };
  const oidc = {
    issuer,
    clientId: oidcClient.id,
    clientSecret: new Secret(oidcClient.secret),
    callbackUrl,
    authorizeUrl: undefined,
  };
  const replica = (): Hono =>
    createApp({
      prettyName: "Test Provider",
      login: new LoginFlow({
        identityProvider: new IdentityProvider(oidc, systemClock),
        loginSealer: createSealer("login", cookieKeys),
        sessionSealer: createSealer("session", cookieKeys),
        secure: false,
        clock: systemClock,
      }),
      offers: {
        visible: () => Promise.resolve(options.offers ?? [sampleOffer]),
        unavailable: () => Promise.resolve(options.unavailable ?? []),
      },
      bind: (session, apis) => {
        for (const api of apis) bound.push({ session, ...api });
        return Promise.resolve(sampleResponse);
      },
      confirmation: { url: `${url}/confirm`, offer: () => Promise.reject(new Error("not asked")) },
      requireConfirmation: false,
      callbackUrl,
      controlPlaneId: () => "TheControlPlane",
      authorizeUrl: undefined,
      allowedRedirects: options.allowedRedirects ?? [],
      secure: false,
      logger: options.logger ?? silentLogger,
      clusterKeyOf: options.clusterKeyOf,
      admit: options.admit,
      extend: (app) =>
        app.post("/backchannel-logout", async (context) => {
          logoutTokens.push(textAt(await context.req.parseBody(), "logout_token") ?? "");
          return context.body(null, 200);
        }),
    });
  served.app = replica();
  const otherReplica = async (request: Request): Promise<Response> => replica().fetch(request);
  const owned = stack.move();
  return {
    url,
    issuer,
    bound,
    logoutTokens,
    otherReplica,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
