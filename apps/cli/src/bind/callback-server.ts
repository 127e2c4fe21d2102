/**
 * The local end of a login: takes the one answer that comes back through the browser. Anybody who can make the browser open an address can
 * call it, so it takes only an answer for this run, once, and sends the browser on at once, so that nothing stays in its address bar and
 * history.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";

/** A response for many APIs is long, and it comes in a request line. */
const maxHeaderSize = 256 * 1024;

/** Judges calls: only an answer for this run may end the waiting, well-formed or not. */
export interface AnswerReader<T> {
  judge(query: URLSearchParams): Verdict<T> | Promise<Verdict<T>>;
  /** Returns what the terminal asks about next, for the page at the end. */
  describe(answer: T): string;
}

/** Result of a judgement. */
export type Verdict<T> =
  | { readonly kind: "accepted"; readonly answer: T }
  | { readonly kind: "malformed"; readonly error: Error }
  | { readonly kind: "foreign"; readonly problem: string };

/** The local end of the login. */
export interface CallbackServer<T> extends AsyncDisposable {
  readonly port: number;
  /** The one accepted answer; rejects when an answer of this session is malformed. */
  readonly answer: Promise<T>;
  /** Resolves when the browser has got its closing page. */
  readonly pageServed: Promise<void>;
  /** Reason why the last refused call was refused. */
  lastProblem(): string | undefined;
}

/** Listens on the loopback addresses only, on a free port. */
export async function startCallbackServer<T>(reader: AnswerReader<T>): Promise<CallbackServer<T>> {
  const accepted = Promise.withResolvers<T>();
  const served = Promise.withResolvers<void>();
  accepted.promise.catch(() => {});
  let done = false;
  let chosen = "this login";
  let problem: string | undefined;
  let port = 0;
  const onCallback = async (query: URLSearchParams, response: ServerResponse): Promise<void> => {
    const verdict = await reader.judge(query);
    if (done) {
      page(response, 409, "Already done", "This login has been completed. You can close this page.");
      return;
    }
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
      chosen = reader.describe(verdict.answer) || chosen;
      accepted.resolve(verdict.answer);
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
    else if (pathname === "/callback") void onCallback(searchParams, response);
    else if (pathname === "/done" && done) {
      response.on("close", () => served.resolve());
      page(response, 200, "Go on in the terminal", `It asks you about ${chosen}. You can close this page.`);
    } else page(response, 404, "Not found", "There is nothing here.");
  };
  const servers = await listen(handler);
  port = servers.port;
  return {
    port,
    answer: accepted.promise,
    pageServed: served.promise,
    lastProblem: () => problem,
    [Symbol.asyncDispose]: () => servers.close(),
  };
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
