/** A backend that issues sessions, and lies about them as a test says. No one logs in: it sends the browser straight back. */
import { text } from "node:stream/consumers";
import { type IssuedSession, sealSession, sealSessionOffer, type SessionOffer } from "@klutch/api";
import { systemClock } from "@klutch/kube";
import { providerDescription, serveLoopback } from "./loopback.ts";

/** Status and JSON of one answer. */
export type Told = readonly [status: number, body: unknown];

/** Parts that a test replaces; all else is honest. */
export interface SessionLies {
  readonly description?: object;
  readonly offer?: Partial<SessionOffer>;
  readonly issued?: Partial<IssuedSession>;
  /** Answers to `POST /session`, `GET /api/templates`, `POST /logout` and `POST /bind-noninteractive`. */
  readonly session?: Told;
  readonly templates?: Told;
  readonly logout?: Told;
  readonly bind?: Told;
}

/** A running one. */
export interface LyingSessions extends AsyncDisposable {
  /** The address for `klutch login`. */
  readonly url: string;
  /** Every request: method, path with query, and authorization. */
  readonly asked: {
    readonly line: string;
    readonly authorization: string | undefined;
    readonly body: unknown;
  }[];
  /** Changes what it says from now on. */
  readonly lie: (lies: SessionLies) => void;
  /** Plays the browser of the person. */
  readonly browser: (url: string) => void;
}

/** The session that it issues, unless it lies. */
export const honestSession = "klutch-session.aaaa.bbbb.cccc.dddd.eeee-the-secret-part";

/** Starts it on loopback. */
export async function startLyingSessions(first: SessionLies = {}): Promise<LyingSessions> {
  let lies = first;
  const asked: LyingSessions["asked"] = [];
  const keys = new Map<string, string>();
  const person = {
    issuer: "https://idp.example.org",
    subject: "ann",
    displayName: "Ann",
    verifiedEmail: "ann@example.org",
  };
  const server = await serveLoopback((request, response) => {
    void (async () => {
      const { pathname, searchParams } = new URL(request.url ?? "/", server.url);
      const body: unknown = request.method === "POST" ? JSON.parse((await text(request)) || "{}") : undefined;
      const { authorization } = request.headers;
      asked.push({ line: `${request.method} ${request.url}`, authorization, body });
      const tell = ([status, told]: Told): void => {
        response.writeHead(status, { "content-type": "application/json" });
        response.end(typeof told === "string" ? told : JSON.stringify(told));
      };
      switch (pathname) {
        case "/export":
          return tell([
            200,
            providerDescription(server.url, {
              sessionUrl: `${server.url}/session`,
              confirmUrl: `${server.url}/confirm`,
              severalApis: true,
              ...lies.description,
            }),
          ]);
        case "/authorize": {
          const [loginId, key] = [searchParams.get("s") ?? "", searchParams.get("ek") ?? ""];
          keys.set("ticket", key);
          keys.set("loginId", loginId);
          const offer = await sealSessionOffer(key, { ...person, loginId, ticket: "ticket", ...lies.offer });
          const back = `http://localhost:${searchParams.get("p")}/callback?offer=${offer}`;
          response.writeHead(302, { location: back }).end();
          return;
        }
        case "/session": {
          if (lies.session !== undefined) return tell(lies.session);
          const endsAt = new Date(systemClock.now() + 3_600_000).toISOString();
          const issued = {
            ...person,
            loginId: keys.get("loginId") ?? "",
            id: "session-1",
            session: honestSession,
            endsAt,
          };
          return tell([
            200,
            { answer: await sealSession(keys.get("ticket") ?? "", { ...issued, ...lies.issued }) },
          ]);
        }
        case "/api/templates":
          return tell(lies.templates ?? [200, { endsAt: "2100-01-01T00:00:00Z", items: [] }]);
        case "/logout":
          return tell(lies.logout ?? [200, { message: "The session has ended." }]);
        case "/bind-noninteractive":
          return tell(lies.bind ?? [500, {}]);
        default:
          return tell([404, "<h1>This page does not exist.</h1>"]);
      }
    })();
  });
  return {
    url: `${server.url}/export`,
    asked,
    lie: (next) => void (lies = next),
    browser: (url) => void fetch(url),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
