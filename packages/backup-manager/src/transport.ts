/** HTTP to one backup manager: authentication, TLS, limits of time and size. Redirects are not followed. */
import { Agent, buildConnector, request } from "undici";
import type { CallAbout } from "./call.ts";
import type { CheckedConfig } from "./config.ts";
import { BackupManagerTransportError } from "./errors.ts";
import { brokenAnswer, ConnectFailure } from "./failures.ts";

/** A request. */
export interface WireRequest extends CallAbout {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below the base address, escaped, with a slash at its begin. */
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  /** Only the status of a 2xx answer counts; its body is thrown away, however long it is. */
  readonly statusOnly?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** An answer. */
export interface WireResponse {
  readonly status: number;
  /** At most 8 MiB. */
  readonly text: string;
  /** Media type without parameters, in lower case; empty when there is none. */
  readonly contentType: string;
  /** From `Retry-After` in seconds, at most an hour; undefined when there is none that is understood. */
  readonly retryAfterMs: number | undefined;
}

/** Sends requests over kept connections. */
export interface Transport extends AsyncDisposable {
  /** Throws `BackupManagerTransportError`, or the reason of the caller's signal. */
  send(request: WireRequest): Promise<WireResponse>;
}

/** The longest answer that is read; the list of ten thousand backups is far smaller. */
const maxBytes = 8 * 1024 * 1024;
/** The longest wait that is taken from an answer: a proxy that names a year must not put a resource to sleep for it. */
const longestWaitMs = 3_600_000;
const longestConnectMs = 10_000;

/** Connections are kept until it is disposed; calls that run then fail. */
export function createTransport(config: CheckedConfig): Transport {
  const { base, timeoutMs } = config;
  const agent = createAgent(config);
  return {
    async send(wire) {
      const limit = AbortSignal.timeout(timeoutMs);
      try {
        const response = await request(`${base}${wire.path}`, {
          method: wire.method,
          dispatcher: agent,
          headers: headersOf(config, wire),
          body: wire.body === undefined ? null : JSON.stringify(wire.body),
          signal: wire.signal === undefined ? limit : AbortSignal.any([wire.signal, limit]),
        });
        const { statusCode: status, headers, body } = response;
        const isWanted = wire.statusOnly !== true || status < 200 || status > 299;
        const text = isWanted ? await readLimited(body, wire) : "";
        // Nobody waits for it; the connection is kept when the body is short.
        if (!isWanted) void body.dump().catch(() => undefined);
        return {
          status,
          text,
          contentType: mediaType(headers["content-type"]),
          retryAfterMs: retryAfter(headers["retry-after"]),
        };
      } catch (error) {
        wire.signal?.throwIfAborted();
        throw brokenAnswer(error, wire, limit.aborted ? timeoutMs : undefined);
      }
    },
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}

function createAgent({ tls, timeoutMs }: CheckedConfig): Agent {
  const connect = buildConnector({
    // Shorter than the limit of a call, so that a manager that cannot be reached is told from one that does not answer.
    timeout: Math.min(timeoutMs / 2, longestConnectMs),
    // HTTP/1.1 is enough here, and its failures are few.
    allowH2: false,
    rejectUnauthorized: tls.insecureSkipVerify !== true,
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
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

function headersOf({ authorization }: CheckedConfig, { body }: WireRequest): Record<string, string> {
  return {
    accept: "application/json",
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...(authorization === undefined ? {} : { authorization }),
  };
}

async function readLimited(body: AsyncIterable<unknown>, about: CallAbout): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    if (!(chunk instanceof Uint8Array)) continue;
    size += chunk.length;
    if (size > maxBytes) {
      const problem = `the answer is longer than ${maxBytes} bytes and was not read to its end. Check that url leads to a backup manager.`;
      throw new BackupManagerTransportError("TooLarge", about, problem);
    }
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

function mediaType(header: string | readonly string[] | undefined): string {
  const first = typeof header === "string" ? header : (header?.[0] ?? "");
  return (first.split(";")[0] ?? "").trim().toLowerCase();
}

function retryAfter(header: string | readonly string[] | undefined): number | undefined {
  const seconds = Number(header);
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds * 1000, longestWaitMs) : undefined;
}
