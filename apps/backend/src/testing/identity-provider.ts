/**
 * Runs a real, certified identity provider in the test's own process. Any user name can log in, and no consent is asked. `ann+team-a+team-b` is in
 * two groups, and `ann+5000` in five thousand. Programs get access tokens (programs.ts), and a public client may log people in on another device. A
 * person who logs out there makes it send a logout token to the backend.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { systemClock } from "@klutch/kube";
import { exportJWK, generateKeyPair, type JWK } from "jose";
import { programClients, programFeatures } from "./programs.ts";
import Provider, { type AdapterFactory, type AdapterPayload, type ClientMetadata } from "oidc-provider";

/** The backend as its identity provider knows it. */
export interface OidcClient {
  readonly id: string;
  readonly secret: string;
  readonly callbackUrl: string;
}

const lifetimeSeconds = 600;

/** Its public client for logins on another device. */
export const deviceClientId = "klutch-device";

const deviceClient: ClientMetadata = {
  client_id: deviceClientId,
  token_endpoint_auth_method: "none",
  grant_types: ["urn:ietf:params:oauth:grant-type:device_code"],
  redirect_uris: [],
  response_types: [],
};
const loginPath = "/login";

/** Starts it on loopback until the stack is disposed; gives back its issuer URL. */
export async function startIdentityProvider(
  stack: AsyncDisposableStack,
  client: OidcClient,
): Promise<string> {
  const server = createServer();
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  stack.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const issuer = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  const provider = createProvider(issuer, client, await newSigningKey());
  const handle = provider.callback();
  server.on("request", (request, response) => {
    const isLogin = request.url?.startsWith(`${loginPath}/`) === true;
    void (isLogin ? logIn(provider, request, response) : handle(request, response));
  });
  return issuer;
}

function createProvider(issuer: string, client: OidcClient, signingKey: JWK): Provider {
  return new Provider(issuer, {
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        redirect_uris: [client.callbackUrl],
        backchannel_logout_uri: new URL("backchannel-logout", client.callbackUrl).href,
      },
      ...programClients,
      deviceClient,
    ],
    adapter: inMemory(),
    jwks: { keys: [signingKey] },
    // The backend of a test is on this machine, to which the provider would send no logout token.
    fetch: (url, { dispatcher: _guard, ...options } = {}) => fetch(url, options),
    pkce: { required: () => true },
    cookies: { keys: ["a-cookie-key-of-the-tests"] },
    ttl: {
      AccessToken: lifetimeSeconds,
      ClientCredentials: lifetimeSeconds,
      DeviceCode: lifetimeSeconds,
      Grant: lifetimeSeconds,
      IdToken: lifetimeSeconds,
      Interaction: lifetimeSeconds,
      Session: lifetimeSeconds,
    },
    features: {
      devInteractions: { enabled: false },
      deviceFlow: { enabled: true },
      backchannelLogout: { enabled: true },
      ...programFeatures(client.id),
    },
    interactions: { url: (_context, { uid }) => `${loginPath}/${uid}` },
    findAccount: (_context, accountId) => ({
      accountId,
      claims: () => ({
        sub: accountId,
        email: `${accountId}@example.org`,
        email_verified: true,
        groups: groupsOf(accountId),
      }),
    }),
    claims: { openid: ["sub"], email: ["email", "email_verified"], groups: ["groups"] },
    conformIdTokenClaims: false,
    async loadExistingGrant({ oidc }) {
      const { accountId } = oidc.session ?? {};
      if (accountId === undefined) return undefined;
      const clientId = oidc.client?.clientId ?? client.id;
      const grant = new oidc.provider.Grant({ accountId, clientId });
      grant.addOIDCScope("openid profile email groups");
      await grant.save();
      return grant;
    },
  });
}

function groupsOf(accountId: string): readonly string[] {
  const [, ...groups] = accountId.split("+");
  return groups.flatMap((group) =>
    /^\d+$/.test(group) ? Array.from({ length: Number(group) }, (_, index) => `group-${index}`) : [group],
  );
}

async function newSigningKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  return { ...(await exportJWK(privateKey)), kid: "tests", alg: "RS256", use: "sig" };
}

/** Shows the form, and takes it with whatever name stands in it. */
async function logIn(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === "POST") {
    const accountId = new URLSearchParams(await text(request)).get("login") ?? "";
    await provider.interactionFinished(request, response, { login: { accountId } });
    return;
  }
  response.setHeader("content-type", "text/html");
  response.end(
    `<!doctype html><html lang=en><title>Sign in</title><form method="post" action="${request.url}"><input name="login"><input name="password" type="password"><button type="submit">Sign in</button></form></html>`,
  );
}

/** Keeps the provider's records until the test ends; the provider itself checks expiry. */
function inMemory(): AdapterFactory {
  const entries = new Map<string, AdapterPayload>();
  return (model) => {
    const find = (matches: (payload: AdapterPayload) => boolean): AdapterPayload | undefined =>
      [...entries].find(([key, payload]) => key.startsWith(`${model}:`) && matches(payload))?.[1];
    return {
      upsert: async (id, payload) => void entries.set(`${model}:${id}`, payload),
      find: async (id) => entries.get(`${model}:${id}`),
      findByUid: async (uid) => find((payload) => payload.uid === uid),
      findByUserCode: async (userCode) => find((payload) => payload.userCode === userCode),
      consume: async (id) => {
        const payload = entries.get(`${model}:${id}`);
        if (payload !== undefined) payload.consumed = Math.floor(systemClock.now() / 1000);
      },
      destroy: async (id) => void entries.delete(`${model}:${id}`),
      revokeByGrantId: async (grantId) => {
        for (const [key, payload] of entries) if (payload.grantId === grantId) entries.delete(key);
      },
    };
  };
}
