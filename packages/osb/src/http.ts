/** One HTTP exchange with a stranger: TLS, time and size limits, and what went wrong in words. It does not follow redirects. */
import { Agent, request } from "undici";
import { OsbTransportError } from "./errors.ts";

/** Whom to trust, and how to show who we are. */
export interface TlsSettings {
  /** PEM. Default: the authorities that Node trusts. */
  readonly ca?: string | undefined;
  readonly serverName?: string | undefined;
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
  readonly signal?: AbortSignal | undefined;
  /** Names the request in errors, without secrets. */
  readonly action: string;
}

/** An answer. */
export interface HttpResponse {
  readonly status: number;
  readonly text: string;
  /** Media type without parameters, in lower case; empty when there is none. */
  readonly contentType: string;
  readonly retryAfterMs: number | undefined;
  /** Names in lower case; of a header that came more than once, the first. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Sends requests over kept connections. Throws `OsbTransportError`, or the reason of the caller's signal. */
export interface HttpClient extends AsyncDisposable {
  send(request: HttpRequest): Promise<HttpResponse>;
}

/** What `createHttpClient` needs. */
export interface HttpOptions {
  /** Who answers, for errors: `the broker`. */
  readonly peer: string;
  /** Of one exchange, from the connection to the last byte. */
  readonly timeoutMs: number;
  readonly tls?: TlsSettings | undefined;
}

/** The longest answer that is read; a catalog of a thousand plans is far smaller. */
const maxBytes = 8 * 1024 * 1024;
/** The longest wait that is taken from an answer: a proxy that names a year must not put a resource to sleep for it. */
const longestWaitMs = 3_600_000;
const tlsCodes = /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME/;

export function createHttpClient(options: HttpOptions): HttpClient {
  const { timeoutMs, peer } = options;
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
        return {
          status: response.statusCode,
          text: await readLimited(response.body, `${peer} answered ${wire.action}`),
          contentType: mediaType(response.headers["content-type"]),
          retryAfterMs: retryAfter(response.headers["retry-after"]),
          headers: firstOfEach(response.headers),
        };
      } catch (error) {
        wire.signal?.throwIfAborted();
        throw translate(error, { ...wire, peer, timedOut: limit.aborted });
      }
    },
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}

/** In milliseconds; undefined when there is none that is understood. */
function retryAfter(header: string | readonly string[] | undefined): number | undefined {
  const seconds = Number(header);
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds * 1000, longestWaitMs) : undefined;
}

function mediaType(header: string | readonly string[] | undefined): string {
  const [first = ""] = typeof header === "string" ? header.split(";") : (header ?? []);
  return first.trim().toLowerCase();
}

function firstOfEach(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      (typeof value === "string" ? value : value?.[0]) ?? "",
    ]),
  );
}

function createAgent({ timeoutMs, tls = {} }: HttpOptions): Agent {
  return new Agent({
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    connect: {
      timeout: Math.min(timeoutMs, 10_000),
      rejectUnauthorized: tls.insecureSkipVerify !== true,
      ...(tls.ca === undefined ? {} : { ca: tls.ca }),
      ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
      ...(tls.cert === undefined ? {} : { cert: tls.cert }),
      ...(tls.key === undefined ? {} : { key: tls.key }),
    },
  });
}

async function readLimited(body: AsyncIterable<unknown>, who: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    if (!(chunk instanceof Uint8Array)) continue;
    size += chunk.length;
    if (size > maxBytes) throw new OsbTransportError("TooLarge", `${who} with more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function translate(
  error: unknown,
  { peer, action, timedOut }: { readonly peer: string; readonly action: string; readonly timedOut: boolean },
): OsbTransportError {
  if (error instanceof OsbTransportError) return error;
  const code = codeOf(error);
  if (timedOut || code.endsWith("TIMEOUT")) {
    return new OsbTransportError("Timeout", `${peer} did not answer ${action} in time`, { cause: error });
  }
  if (tlsCodes.test(code)) {
    return new OsbTransportError("Tls", `no trusted TLS connection to ${peer} (${code})`, { cause: error });
  }
  if (code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return new OsbTransportError("Unreachable", `${peer} cannot be reached (${code})`, { cause: error });
  }
  // The connection broke after the request may have arrived.
  return new OsbTransportError("Timeout", `the connection to ${peer} broke during ${action} (${code})`, {
    cause: error,
  });
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  if (typeof error === "object" && error !== null && "code" in error && typeof error.code === "string")
    return error.code;
  return error instanceof Error && error.cause !== undefined ? codeOf(error.cause) : "unknown";
}
