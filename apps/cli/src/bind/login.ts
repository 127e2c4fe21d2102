/**
 * The login in the person's browser. A current backend gets a confirmation afterwards (`confirm.ts`); an older one answers with the
 * credential in the address that the browser opens.
 */
import { randomInt } from "node:crypto";
import {
  type BindingResponse,
  type ClusterProof,
  crdNameOf,
  decodeBindingResponse,
  type LoginWish,
  printable,
  WireError,
  wishText,
} from "@klutch/api";
import { isRecord } from "@klutch/kube-core";
import type { CliContext } from "../context.ts";
import { CliError, nothingChanged } from "../errors.ts";
import type { JsonAnswer } from "../http.ts";
import { type AnswerReader, type CallbackServer, startCallbackServer } from "./callback-server.ts";
import type { ProviderDescription } from "./provider.ts";

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
/** 22 characters of base 62 hold 128 bits, and no character that any base64 alphabet would treat specially. */
const sessionIdLength = 22;

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
    /** Undefined for a provider that binds one API of a login. */
    readonly wish?: LoginWish | undefined;
    /** For people only: it is not part of the proof. */
    readonly clusterName?: string | undefined;
    readonly proof?: ClusterProof | undefined;
    /** Public keys of this login and of the app cluster, for a provider that takes confirmations. */
    readonly keys?: { readonly answerKey: string; readonly clusterKey: string } | undefined;
  },
): string {
  const url = new URL(provider.loginUrl);
  url.searchParams.set("p", String(query.port));
  url.searchParams.set("s", query.sessionId);
  url.searchParams.set("c", query.clusterId);
  if (query.wish !== undefined) url.searchParams.set("m", wishText(query.wish));
  if (query.clusterName !== undefined) url.searchParams.set("n", query.clusterName);
  if (query.proof !== undefined) {
    url.searchParams.set("k", query.proof.publicKey);
    url.searchParams.set("h", query.proof.challenge);
    url.searchParams.set("g", query.proof.signature);
  }
  if (query.keys !== undefined) {
    url.searchParams.set("ek", query.keys.answerKey);
    url.searchParams.set("ck", query.keys.clusterKey);
  }
  return url.href;
}

/** Options of every login. */
export interface LoginOptions {
  readonly clusterId: string;
  readonly clusterName?: string | undefined;
  /** APIs that the page selects in advance; undefined for a provider that binds one API of a login. */
  readonly wish?: LoginWish | undefined;
  readonly timeoutMs: number;
  readonly browser: boolean;
}

/** Lets the person log in at a provider that takes no confirmations, and choose an API; resolves to the provider's answer. */
export async function login(
  context: CliContext,
  provider: ProviderDescription,
  options: LoginOptions & {
    /** Proves to the provider that this person holds the app cluster; undefined where it takes no proof. */
    readonly prove?: ((sessionId: string) => Promise<ClusterProof | undefined>) | undefined;
  },
): Promise<BindingResponse> {
  const sessionId = newSessionId();
  await using callback = await startCallbackServer(responseReader(sessionId));
  const { clusterId, clusterName, wish } = options;
  const proof = await options.prove?.(sessionId);
  const url = loginUrlOf(provider, { port: callback.port, sessionId, clusterId, clusterName, wish, proof });
  return await answerFromBrowser(context, provider, url, callback, options);
}

/** Shows the address, and waits for the answer. The page after it is served until disposal. */
export async function answerFromBrowser<T>(
  context: CliContext,
  provider: ProviderDescription,
  url: string,
  callback: CallbackServer<T>,
  options: Pick<LoginOptions, "timeoutMs" | "browser">,
): Promise<T> {
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
    const answer = await Promise.race([
      callback.answer,
      expire(context, options.timeoutMs, cancelled.signal, () => callback.lastProblem()),
    ]);
    await Promise.race([callback.pageServed, context.clock.sleep(1000)]);
    return answer;
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

/** Takes a response that carries the session id of this run. */
export function responseReader(sessionId: string): AnswerReader<BindingResponse> {
  return {
    describe: namesIn,
    judge(query) {
      const encoded = query.get("response");
      if (encoded === null || encoded === "") return { kind: "foreign", problem: "it carries no response" };
      try {
        const answer = decodeBindingResponse(encoded);
        return answer.authentication.oauth2CodeGrant.sid === sessionId
          ? { kind: "accepted", answer }
          : { kind: "foreign", problem: "it has another session id" };
      } catch (cause) {
        if (!(cause instanceof WireError)) throw cause;
        const text = Buffer.from(encoded.replaceAll(" ", "+"), "base64").toString("utf8");
        if (!text.includes(`"${sessionId}"`)) return { kind: "foreign", problem: cause.message };
        return { kind: "malformed", error: unusable(cause) };
      }
    },
  };
}

/** Words an answer that is not what it should be. */
export function unusable(cause: WireError): CliError {
  return new CliError("Login", `The provider's answer cannot be used: ${cause.message}.`, { cause });
}

/** Reads an answer. Rejects with `CliError` if it is not what it should be. */
export async function usable<T>(read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw error instanceof WireError ? unusable(error) : error;
  }
}

/** Words a refusal with the provider's own words. `what` says what it did not do, after "The provider"; `end` is the last sentence. */
export function refused(what: string, { status, body }: JsonAnswer, end: string = nothingChanged): CliError {
  const { error, advice } = isRecord(body) ? body : {};
  const said = [error, advice].filter((one) => typeof one === "string").join(" ");
  const why = said === "" ? "" : `: ${printable(said)}`;
  return new CliError("Login", `The provider ${what} (HTTP ${status}${why}). ${end}`.trimEnd());
}

/** Names of the APIs in an answer: `databases.example.org, backups.example.org`. */
function namesIn({ requests }: BindingResponse): string {
  return requests.flatMap(({ spec }) => spec.resources.map((one) => printable(crdNameOf(one)))).join(", ");
}
