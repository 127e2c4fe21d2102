/** Fetching small documents that the person named by address: the provider's description, a manifest. */
import { jsonOf } from "@klutch/kube-core";
import type { CliContext } from "./context.ts";
import { CliError } from "./errors.ts";
import { failureReason } from "./failure-reason.ts";

const defaultTimeoutMs = 15_000;
const maxLength = 1024 * 1024;

/**
 * Returns why an address may not be used, as the end of a sentence, or undefined if it may. Credentials and answers that decide about
 * rights travel over https only, or stay on this machine.
 */
export function addressProblem(url: string): string | undefined {
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
    return "is not an address; it must start with http:// or https://";
  }
  const { protocol, hostname, username, password } = new URL(url);
  if (username !== "" || password !== "") return "must not hold a user name or password";
  return protocol === "https:" || isLoopback(hostname)
    ? undefined
    : "is refused: credentials travel only over https. Use the provider's https:// address; http:// is for this machine (localhost, 127.0.0.1, [::1])";
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/** `url` without what may be secret in it. */
function shown(url: string): string {
  const found = URL.canParse(url) ? new URL(url) : undefined;
  return found !== undefined && found.host !== "" && (found.username !== "" || found.password !== "")
    ? `${found.protocol}//…@${found.host}`
    : url;
}

/** Throws `CliError` when the address may not be used. */
export function checkAddress(url: string): void {
  const problem = addressProblem(url);
  if (problem !== undefined) throw new CliError("Usage", `${shown(url)} ${problem}.`);
}

/**
 * The text at `url`. Follows no redirect: credentials will be asked for at the address the person typed, not at one a server
 * chose. The whole answer must be there in `timeoutMs` (15 000) and have at most 1 048 576 characters. Throws `CliError` that tells an
 * unreachable host, an HTTP error and a redirect apart.
 */
export async function fetchText(
  url: string,
  signal: AbortSignal,
  { timeoutMs = defaultTimeoutMs }: { readonly timeoutMs?: number | undefined } = {},
): Promise<string> {
  checkAddress(url);
  let response: Response;
  try {
    response = await fetch(url, {
      redirect: "manual",
      headers: { accept: "application/json", "user-agent": "kubectl-bind" },
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
  } catch (cause) {
    if (signal.aborted) throw cause;
    throw new CliError(
      "ProviderUnreachable",
      `${url} cannot be reached (${failureReason(cause, timeoutMs)}).`,
      {
        cause,
      },
    );
  }
  if (response.status >= 300 && response.status < 400) {
    const target = response.headers.get("location") ?? "another address";
    throw new CliError(
      "NotAProvider",
      `${url} redirects to ${target}, which is not followed. If you trust that address, pass it instead.`,
    );
  }
  if (!response.ok) {
    throw new CliError(
      "NotAProvider",
      `${url} answered HTTP ${response.status}${response.statusText === "" ? "" : ` ${response.statusText}`}. Check the address; a provider's usually ends in /export.`,
    );
  }
  return readBounded(response, url, timeoutMs);
}

/** Answer to `postJson`. */
export interface JsonAnswer {
  readonly status: number;
  /** Undefined if it is not JSON, or too long. */
  readonly body: unknown;
}

/** Times that a server may hold off one request, and the longest of these waits. */
const mostWaits = 6;
const longestWaitMs = 20_000;

/**
 * Sends JSON and reads JSON of at most 1 048 576 characters. Follows no redirect. Waits as `Retry-After` says (1 to 20 seconds, 2 without it)
 * when the server is busy (429), at most six times; then that is the answer. `more`: further headers. Throws `CliError` for an unreachable host.
 */
export function postJson(
  context: Pick<CliContext, "signal" | "clock">,
  url: string,
  body: object,
  more: Readonly<Record<string, string>> = {},
): Promise<JsonAnswer> {
  const headers = { "content-type": "application/json", ...more };
  return exchange(context, url, { method: "POST", headers, body: JSON.stringify(body) });
}

/** Reads JSON, as `postJson`. */
export function getJson(
  context: Pick<CliContext, "signal" | "clock">,
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<JsonAnswer> {
  return exchange(context, url, { method: "GET", headers });
}

async function exchange(
  { signal, clock }: Pick<CliContext, "signal" | "clock">,
  url: string,
  init: {
    readonly method: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string;
  },
): Promise<JsonAnswer> {
  for (let waits = 0; ; waits++) {
    let response: Response;
    let text: string | undefined;
    try {
      response = await fetch(url, {
        ...init,
        redirect: "manual",
        headers: { accept: "application/json", "user-agent": "kubectl-bind", ...init.headers },
        signal: AbortSignal.any([signal, AbortSignal.timeout(defaultTimeoutMs)]),
      });
      text = await readAtMost(response, maxLength);
    } catch (cause) {
      if (signal.aborted) throw cause;
      const message = `${url} cannot be reached (${failureReason(cause, defaultTimeoutMs)}).`;
      throw new CliError("ProviderUnreachable", message, { cause });
    }
    if (response.status !== 429 || waits === mostWaits) {
      return { status: response.status, body: jsonOf(text) };
    }
    const seconds = Number(response.headers.get("retry-after") ?? "2");
    const waitMs = Number.isFinite(seconds) ? seconds * 1000 : longestWaitMs;
    await clock.sleep(Math.min(longestWaitMs, Math.max(1000, waitMs)), { signal });
  }
}

/** Returns the text of an answer, or undefined if it has more characters than `limit`: then the rest is not read. */
export async function readAtMost(response: Response, limit: number): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = "";
  const chunks: AsyncIterable<Uint8Array> | undefined = response.body ?? undefined;
  for await (const chunk of chunks ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > limit) return undefined;
  }
  return text + decoder.decode();
}

async function readBounded(response: Response, url: string, timeoutMs: number): Promise<string> {
  let text: string | undefined;
  try {
    text = await readAtMost(response, maxLength);
  } catch (cause) {
    throw new CliError(
      "ProviderUnreachable",
      `${url} broke off its answer (${failureReason(cause, timeoutMs)}).`,
      { cause },
    );
  }
  if (text !== undefined) return text;
  throw new CliError("NotAProvider", `${url} answered with more than ${maxLength} characters.`);
}
