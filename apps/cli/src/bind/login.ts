/**
 * The login in the person's browser and the one answer that comes back from it to this machine. Anybody who can make the browser
 * open an address can call the local server, so it takes only the answer that carries the session id of this run, once,
 * and sends the browser on at once so that the credentials do not stay in its address bar and history.
 */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import {
  type BindingResponse,
  type ClusterProof,
  crdNameOf,
  decodeBindingResponse,
  printable,
  WireError,
} from "@klutch/api";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import type { ProviderDescription } from "./provider.ts";

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
/** 22 characters of base 62 hold 128 bits, and no character that any base64 alphabet would treat specially. */
const sessionIdLength = 22;
/** A response for many APIs is long, and it comes in a request line. */
const maxHeaderSize = 256 * 1024;

/** A session id that cannot be guessed. */
export function newSessionId(): string {
  return Array.from({ length: sessionIdLength }, () => alphabet[randomInt(alphabet.length)]).join("");
}

/** Returns the URL that the browser opens. */
export function loginUrlOf(
  provider: ProviderDescription,
  query: {
    readonly port: number;
    readonly sessionId: string;
    readonly clusterId: string;
    /** For people only: it is not part of the proof. */
    readonly clusterName?: string | undefined;
    readonly proof?: ClusterProof | undefined;
  },
): string {
  const url = new URL(provider.loginUrl);
  url.searchParams.set("p", String(query.port));
  url.searchParams.set("s", query.sessionId);
  url.searchParams.set("c", query.clusterId);
  if (query.clusterName !== undefined) url.searchParams.set("n", query.clusterName);
  if (query.proof !== undefined) {
    url.searchParams.set("k", query.proof.publicKey);
    url.searchParams.set("h", query.proof.challenge);
    url.searchParams.set("g", query.proof.signature);
  }
  return url.href;
}

/** Lets the person log in and choose an API; resolves to the provider's answer. The page after it is served until disposal. */
export async function login(
  context: CliContext,
  provider: ProviderDescription,
  options: {
    readonly clusterId: string;
    readonly clusterName?: string | undefined;
    readonly timeoutMs: number;
    readonly browser: boolean;
    /** Proves to the provider that this person holds the app cluster; undefined where it takes no proof. */
    readonly prove?: ((sessionId: string) => Promise<ClusterProof | undefined>) | undefined;
  },
): Promise<BindingResponse> {
  const sessionId = newSessionId();
  await using callback = await startCallbackServer(sessionId);
  const { clusterId, clusterName } = options;
  const proof = await options.prove?.(sessionId);
  const url = loginUrlOf(provider, { port: callback.port, sessionId, clusterId, clusterName, proof });
  const { terminal } = context;
  terminal.say(
    `To log in to ${printable(provider.prettyName || provider.url)}, open this address in a browser:`,
  );
  terminal.say("");
  terminal.say(`    ${url}`);
  terminal.say("");
  if (options.browser && terminal.interactive) context.openBrowser(url);
  const stop = terminal.waiting("Waiting for the login in the browser");
  const cancelled = new AbortController();
  try {
    const response = await Promise.race([
      callback.response,
      expire(context, options.timeoutMs, cancelled.signal, () => callback.lastProblem()),
    ]);
    await Promise.race([callback.pageServed, context.clock.sleep(1000)]);
    return response;
  } finally {
    cancelled.abort();
    stop();
  }
}

async function expire(
  { clock, signal }: CliContext,
  timeoutMs: number,
  cancelled: AbortSignal,
  lastProblem: () => string | undefined,
): Promise<never> {
  await clock.sleep(timeoutMs, { signal: AbortSignal.any([signal, cancelled]) });
  const problem = lastProblem();
  throw new CliError(
    "Timeout",
    `The login was not completed within ${Math.round(timeoutMs / 1000)} s. Run the command again, or give more time with --timeout.${problem === undefined ? "" : ` The last answer was refused: ${problem}.`}`,
  );
}

/** The local end of the login. */
export interface CallbackServer extends AsyncDisposable {
  readonly port: number;
  /** The one accepted answer; rejects when an answer of this session is malformed. */
  readonly response: Promise<BindingResponse>;
  /** Resolves when the browser has got its closing page. */
  readonly pageServed: Promise<void>;
  /** Reason why the last refused call was refused. */
  lastProblem(): string | undefined;
}

/** Listens on the loopback addresses only, on a free port. */
export async function startCallbackServer(sessionId: string): Promise<CallbackServer> {
  const accepted = Promise.withResolvers<BindingResponse>();
  const served = Promise.withResolvers<void>();
  accepted.promise.catch(() => {});
  let done = false;
  let chosen = "the APIs that you chose";
  let problem: string | undefined;
  let port = 0;
  const onCallback = (query: URLSearchParams, response: ServerResponse): void => {
    if (done) {
      page(response, 409, "Already done", "This login has been completed. You can close this page.");
      return;
    }
    const verdict = judge(query, sessionId);
    if (verdict.kind === "foreign") {
      problem = verdict.problem;
      page(
        response,
        400,
        "Not accepted",
        `This answer does not belong to the login that is waiting: ${problem}.`,
      );
      return;
    }
    done = true;
    if (verdict.kind === "accepted") {
      chosen = namesIn(verdict.response) || chosen;
      accepted.resolve(verdict.response);
      response.writeHead(303, { ...plainHeaders, location: "/done" }).end();
    } else {
      accepted.reject(verdict.error);
      page(response, 400, "Not accepted", "The provider's answer cannot be used; the terminal says why.");
    }
  };
  const handler = (request: IncomingMessage, response: ServerResponse): void => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    if (!isOwnHost(request.headers.host, port)) page(response, 403, "Refused", "Unknown host name.");
    else if (request.method !== "GET") page(response, 405, "Refused", "Only GET is possible.");
    else if (pathname === "/callback") onCallback(searchParams, response);
    else if (pathname === "/done" && done) {
      response.on("close", () => served.resolve());
      page(response, 200, "Go on in the terminal", `It asks you about ${chosen}. You can close this page.`);
    } else page(response, 404, "Not found", "There is nothing here.");
  };
  const servers = await listen(handler);
  port = servers.port;
  return {
    port,
    response: accepted.promise,
    pageServed: served.promise,
    lastProblem: () => problem,
    [Symbol.asyncDispose]: () => servers.close(),
  };
}

/** Names of the APIs in an answer: `databases.example.org, backups.example.org`. */
function namesIn({ requests }: BindingResponse): string {
  return requests.flatMap(({ spec }) => spec.resources.map((one) => printable(crdNameOf(one)))).join(", ");
}

type Verdict =
  | { readonly kind: "accepted"; readonly response: BindingResponse }
  | { readonly kind: "malformed"; readonly error: CliError }
  | { readonly kind: "foreign"; readonly problem: string };

/** Only an answer with this run's session id may end the waiting, well-formed or not. */
function judge(query: URLSearchParams, sessionId: string): Verdict {
  const encoded = query.get("response");
  if (encoded === null || encoded === "") return { kind: "foreign", problem: "it carries no response" };
  try {
    const response = decodeBindingResponse(encoded);
    return response.authentication.oauth2CodeGrant.sid === sessionId
      ? { kind: "accepted", response }
      : { kind: "foreign", problem: "it has another session id" };
  } catch (cause) {
    if (!(cause instanceof WireError)) throw cause;
    const text = Buffer.from(encoded.replaceAll(" ", "+"), "base64").toString("utf8");
    if (!text.includes(`"${sessionId}"`)) return { kind: "foreign", problem: cause.message };
    const message = `The provider's answer cannot be used: ${cause.message}.`;
    return { kind: "malformed", error: new CliError("Login", message, { cause }) };
  }
}

/** Keeps other names that resolve to this machine (DNS rebinding) away. */
function isOwnHost(host: string | undefined, port: number): boolean {
  return [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`].includes(host ?? "");
}

interface Listening {
  readonly port: number;
  close(): Promise<void>;
}

/** `localhost` may mean 127.0.0.1 or ::1; both are served where the machine has both. */
async function listen(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Listening> {
  const open = async (host: string, port: number): Promise<Server> => {
    const server = createServer({ maxHeaderSize }, handler);
    server.listen(port, host);
    await once(server, "listening");
    return server;
  };
  const first = await open("127.0.0.1", 0);
  const address = first.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const second = await open("::1", port).catch(() => undefined);
  const servers = second === undefined ? [first] : [first, second];
  return {
    port,
    async close() {
      await Promise.all(
        servers.map(async (server) => {
          const closed = once(server, "close");
          server.close();
          server.closeAllConnections();
          await closed;
        }),
      );
    },
  };
}

/** Looks like the provider's pages before it (apps/backend/src/login/pages/styles.ts). */
const style = `
:root { color-scheme: light dark; --ink: #1c2330; --paper: #f5f6f9; --card: #ffffff; --line: #d5dae3; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ecf4; --paper: #12161e; --card: #1b212c; --line: #333c4c; } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
main { max-width: 46rem; margin: 12vh auto; padding: 1.15rem 1.25rem; background: var(--card); border: 1px solid var(--line); border-radius: .8rem; }
h1 { font-size: 1.65rem; line-height: 1.25; margin: .25rem 0 .5rem; }
p { margin: 0; }
`;
const plainHeaders = { "cache-control": "no-store", "referrer-policy": "no-referrer" } as const;

function page(response: ServerResponse, status: number, title: string, text: string): void {
  const escape = (raw: string): string => raw.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  response
    .writeHead(status, {
      ...plainHeaders,
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
      connection: "close",
    })
    .end(
      `<!doctype html><html lang="en"><meta charset="utf-8"><title>${escape(title)}</title>` +
        `<meta name="viewport" content="width=device-width, initial-scale=1"><style>${style}</style>` +
        `<main><h1>${escape(title)}</h1><p>${escape(text)}</p></main></html>`,
    );
}
