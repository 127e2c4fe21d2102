/** The device flow of an identity provider that lies on purpose; metadata, keys and signatures are those of `startLyingIdentityProvider`. */
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import type { JWTPayload } from "jose";
import { type LyingIdentityProvider, startLyingIdentityProvider } from "./lying-identity-provider.ts";

/** Fixture of the tests. */
export interface LyingDeviceFlow extends AsyncDisposable {
  readonly provider: LyingIdentityProvider;
  /** Forms that came to the two endpoints. */
  readonly requests: { readonly path: string; readonly form: URLSearchParams }[];
  /** Sets fields of the next codes; undefined takes one away. */
  code(fields: Readonly<Record<string, unknown>>): void;
  /** Sets the answer of the token endpoint from now on. */
  poll(status: number, body: unknown): void;
  /** Lets this person approve every code from now on. */
  approve(claims?: JWTPayload): Promise<void>;
  /** Makes both endpoints answer with an error, or a page. */
  refuseCodes(status: number, body: unknown): void;
}

/** The public client of the flow. */
export const lyingDeviceClient = "klutch-device";

/** The secret of every login. */
export const lyingDeviceCode = "a-device-code-that-must-not-leave-the-backend";

export async function startLyingDeviceFlow(): Promise<LyingDeviceFlow> {
  await using stack = new AsyncDisposableStack();
  const provider = stack.use(await startLyingIdentityProvider());
  const requests: LyingDeviceFlow["requests"] = [];
  const pending = { status: 400, body: { error: "authorization_pending" } as unknown };
  const state = { fields: {}, poll: pending, refusal: undefined as typeof pending | undefined };
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const path = request.url ?? "/";
      requests.push({ path, form: new URLSearchParams(body) });
      const code = { status: 200, body: codeOf(state.fields) };
      const answer = path === "/token" ? state.poll : (state.refusal ?? code);
      const isPage = typeof answer.body === "string";
      response.writeHead(answer.status, { "content-type": isPage ? "text/html" : "application/json" });
      response.end(isPage ? answer.body : JSON.stringify(answer.body));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  stack.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  provider.describe({ device_authorization_endpoint: `${url}/code`, token_endpoint: `${url}/token` });
  const owned = stack.move();
  return {
    provider,
    requests,
    code: (fields) => void (state.fields = fields),
    poll: (status, body) => void (state.poll = { status, body }),
    async approve(claims = {}) {
      const { nonce: _, ...honest } = provider.claims("");
      const idToken = await provider.sign({ ...honest, aud: lyingDeviceClient, ...claims });
      state.poll = {
        status: 200,
        body: { access_token: "unused", token_type: "Bearer", id_token: idToken },
      };
    },
    refuseCodes: (status, body) => void (state.refusal = { status, body }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function codeOf(fields: Readonly<Record<string, unknown>>): object {
  return {
    device_code: lyingDeviceCode,
    user_code: "WDJB-MJHT",
    verification_uri: "https://idp.example.org/device",
    verification_uri_complete: "https://idp.example.org/device?user_code=WDJB-MJHT",
    expires_in: 600,
    interval: 5,
    ...fields,
  };
}
