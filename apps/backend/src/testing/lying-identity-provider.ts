/**
 * An identity provider that lies on purpose: it answers each code with whatever ID token the test made. Only for what a real one does
 * not do on demand.
 */
import { createServer, type RequestListener } from "node:http";
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT, UnsecuredJWT } from "jose";
import { systemClock } from "@klutch/kube";

/** A key pair with its name. */
export interface SigningKey {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
}

/** Signature of one ID token. */
export interface Signing {
  /** Default: the key that the key set has. */
  readonly key?: SigningKey | undefined;
  /** HMAC with these bytes instead of a key pair. */
  readonly hmac?: Uint8Array | undefined;
  readonly unsigned?: boolean | undefined;
  /** Name of the key in the header; null leaves it out. */
  readonly kid?: string | null | undefined;
  /** Type in the header; default none. */
  readonly typ?: string | undefined;
}

/** Fixture of the tests. */
export interface LyingIdentityProvider extends AsyncDisposable {
  readonly issuer: string;
  /** The key in the key set. */
  readonly key: SigningKey;
  /** Number of reads of the key set. */
  readonly keySetReads: number;
  /** Number of exchanged codes. */
  readonly exchanges: number;
  /** The claims of an honest token. */
  claims(nonce: string): JWTPayload;
  /** Signs a token of any kind. */
  sign(claims: JWTPayload, signing?: Signing): Promise<string>;
  /** Sets the answer of the token endpoint from now on. */
  answerWith(claims: JWTPayload, signing?: Signing): Promise<void>;
  /** Further fields of its metadata. */
  describe(fields: Readonly<Record<string, unknown>>): void;
  /** Makes these paths answer 502 with a page from now on, as a proxy does. */
  breakDown(...paths: readonly string[]): void;
  /** Puts another key in the place of the one in the key set. */
  rotate(): Promise<void>;
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
}

/** The client id that its tokens are for. */
export const lyingClientId = "klutch";

export async function makeKey(kid: string): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
  return { kid, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg: "RS256", use: "sig" } };
}

export async function startLyingIdentityProvider(): Promise<LyingIdentityProvider> {
  const state = { key: await makeKey("first"), token: "", reads: 0, exchanges: 0, fields: {}, port: 0 };
  const broken = new Set<string>();
  const issuer = (): string => `http://127.0.0.1:${state.port}`;
  const answers: Readonly<Record<string, () => unknown>> = {
    "/.well-known/openid-configuration": () => ({
      issuer: issuer(),
      authorization_endpoint: `${issuer()}/authorize`,
      token_endpoint: `${issuer()}/token`,
      jwks_uri: `${issuer()}/keys`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      // It claims to sign with everything, so that nothing is refused only because it is not announced.
      id_token_signing_alg_values_supported: ["RS256", "HS256", "none"],
      ...state.fields,
    }),
    "/keys": () => {
      state.reads += 1;
      return { keys: [state.key.publicJwk] };
    },
    "/token": () => {
      state.exchanges += 1;
      return { access_token: "unused", token_type: "Bearer", id_token: state.token };
    },
  };
  const listen: RequestListener = (request, response) => {
    const { pathname } = new URL(request.url ?? "/", issuer());
    if (broken.has(pathname)) {
      response.writeHead(502, { "content-type": "text/html" });
      response.end("<h1>Bad Gateway</h1>");
      return;
    }
    const answer = answers[pathname];
    response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer?.()));
  };
  let server = await startServer(listen, 0);
  const address = server.address();
  state.port = typeof address === "object" && address !== null ? address.port : 0;
  const goAway = async (): Promise<void> => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  return {
    issuer: issuer(),
    get key() {
      return state.key;
    },
    get keySetReads() {
      return state.reads;
    },
    get exchanges() {
      return state.exchanges;
    },
    claims(nonce) {
      const now = Math.floor(systemClock.now() / 1000);
      return { iss: issuer(), aud: lyingClientId, sub: "someone", nonce, iat: now, exp: now + 300 };
    },
    sign: (claims, signing = {}) => sign(claims, signing.key ?? state.key, signing),
    async answerWith(claims, signing = {}) {
      state.token = await sign(claims, signing.key ?? state.key, signing);
    },
    describe(fields) {
      state.fields = fields;
    },
    breakDown(...paths) {
      broken.clear();
      for (const path of paths) broken.add(path);
    },
    async rotate() {
      state.key = await makeKey("second");
    },
    goAway,
    async comeBack() {
      server = await startServer(listen, state.port);
    },
    [Symbol.asyncDispose]: goAway,
  };
}

async function startServer(listen: RequestListener, port: number): Promise<ReturnType<typeof createServer>> {
  const server = createServer(listen);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(port, "127.0.0.1", resolve);
  await promise;
  return server;
}

async function sign(claims: JWTPayload, key: SigningKey, signing: Signing): Promise<string> {
  if (signing.unsigned === true) return new UnsecuredJWT(claims).encode();
  const { kid = key.kid, hmac, typ } = signing;
  const alg = hmac === undefined ? "RS256" : "HS256";
  const header = { alg, ...(kid === null ? {} : { kid }), ...(typ === undefined ? {} : { typ }) };
  return new SignJWT(claims).setProtectedHeader(header).sign(hmac ?? key.privateKey);
}
