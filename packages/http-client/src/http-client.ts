/** Runs one HTTP exchange with an untrusted server: TLS, limits of time and size. Redirects are not followed. */
import { Agent, buildConnector, request } from "undici";
import { ConnectFailure, failureOf, HttpFailure } from "./failure.ts";

/** Whom to trust, and how to show who we are. */
export interface TlsSettings {
  /** Certificates of authorities, PEM; they take the place of those that Node trusts. */
  readonly ca?: string | undefined;
  /** The name that the certificate must have. Default: the host of the address. */
  readonly serverName?: string | undefined;
  /** Accepts any certificate, whatever `ca` says. Default false. Anyone on the way can then read the exchange. */
  readonly insecureSkipVerify?: boolean | undefined;
  /** Client certificate, PEM; needs `key`. */
  readonly cert?: string | undefined;
  /** Key of the client certificate, PEM; needs `cert`. */
  readonly key?: string | undefined;
}

/** A request as it goes over the wire. */
export interface HttpRequest {
  readonly method: "GET" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** True to use only the status of a 2xx answer and discard its body, however long it is. Default false. */
  readonly statusOnly?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** An answer. */
export interface HttpResponse {
  readonly status: number;
  /** Body of at most 8 MiB. */
  readonly text: string;
  /** Media type without parameters, in lower case; empty when there is none. */
  readonly contentType: string;
  /** Wait from `Retry-After` in seconds, at most an hour; undefined if it is missing or not understood. */
  readonly retryAfterMs: number | undefined;
  /** Names in lower case; of a header that came more than once, the first. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Sends requests over kept connections. */
export interface HttpClient extends AsyncDisposable {
  /** Sends once. Throws `HttpFailure` when no complete answer came, or the reason of the caller's signal. */
  send(request: HttpRequest): Promise<HttpResponse>;
}

/** Options of `createHttpClient`. */
export interface HttpOptions {
  /** Maximum time of one exchange, from the connection to the last byte. */
  readonly timeoutMs: number;
  readonly tls?: TlsSettings | undefined;
}

/** The longest answer that is read; a catalog of a thousand plans and a list of ten thousand backups are far smaller. */
const maxBytes = 8 * 1024 * 1024;
/** The longest wait that is taken from an answer: a proxy that names a year must not put a resource to sleep for it. */
const longestWaitMs = 3_600_000;
const longestConnectMs = 10_000;

/** Connections are kept until it is disposed; exchanges that run then fail. */
export function createHttpClient(options: HttpOptions): HttpClient {
  const { timeoutMs } = options;
  const agent = createAgent(options);
  return {
    async send(wire) {
      const limit = AbortSignal.timeout(timeoutMs);
      try {
        const response = await request(wire.url, {
          method: wire.method,
          dispatcher: agent,
          headers: wire.headers,
          body: wire.body ?? null,
          signal: wire.signal === undefined ? limit : AbortSignal.any([wire.signal, limit]),
        });
        const { statusCode: status, headers, body } = response;
        const isWanted = wire.statusOnly !== true || status < 200 || status > 299;
        const text = isWanted ? await readLimited(body) : "";
        // No one waits for the body; the connection is kept if it is short.
        if (!isWanted) void body.dump().catch(() => undefined);
        return {
          status,
          text,
          contentType: mediaType(headers["content-type"]),
          retryAfterMs: retryAfter(headers["retry-after"]),
          headers: firstOfEach(headers),
        };
      } catch (error) {
        wire.signal?.throwIfAborted();
        throw failureOf(error, limit.aborted ? timeoutMs : undefined);
      }
    },
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}

function createAgent({ tls = {}, timeoutMs }: HttpOptions): Agent {
  const connect = buildConnector({
    // Shorter than the limit of an exchange, so that a server that cannot be reached is told from one that does not answer.
    timeout: Math.min(timeoutMs / 2, longestConnectMs),
    // HTTP/1.1 is enough here, and its failures are few.
    allowH2: false,
    rejectUnauthorized: tls.insecureSkipVerify !== true,
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
    ...(tls.cert === undefined ? {} : { cert: tls.cert }),
    ...(tls.key === undefined ? {} : { key: tls.key }),
  });
  return new Agent({
    allowH2: false,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    connect: (options, callback) =>
      connect(options, (...result) => {
        const [error] = result;
        if (error === null) callback(...result);
        else callback(new ConnectFailure(error), null);
      }),
  });
}

async function readLimited(body: AsyncIterable<unknown>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    if (!(chunk instanceof Uint8Array)) continue;
    size += chunk.length;
    if (size > maxBytes) throw new HttpFailure("TooLarge", `more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

type Header = string | readonly string[] | undefined;

function mediaType(header: Header): string {
  return (firstOf(header).split(";")[0] ?? "").trim().toLowerCase();
}

function retryAfter(header: Header): number | undefined {
  const seconds = Number(firstOf(header));
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds * 1000, longestWaitMs) : undefined;
}

function firstOfEach(headers: Readonly<Record<string, Header>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, firstOf(value)]));
}

function firstOf(header: Header): string {
  return (typeof header === "string" ? header : header?.[0]) ?? "";
}
