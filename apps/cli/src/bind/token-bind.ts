/**
 * Binding with an access token instead of a login, as programs do it: `kubectl bind <url> --api … --token-file …`. The provider's operator names the
 * client of the token (docs/operating.md, Bind from CI). The token goes to the typed address only.
 */
import { readFile } from "node:fs/promises";
import { type BindingResponse, crdNameOf, printable, readBindingResponse, resourceNamed } from "@klutch/api";
import { textAt } from "@klutch/kube-core";
import { Secret } from "@klutch/telemetry";
import type { CliContext } from "../context.ts";
import { CliError, nothingChanged } from "../errors.ts";
import { type JsonAnswer, postJson } from "../http.ts";
import { usable } from "./login.ts";
import type { ProviderDescription } from "./provider.ts";

/** A wish that the provider is sent. */
export interface TokenBind {
  /** Path, or `-` for standard input. */
  readonly tokenFile: string;
  readonly clusterId: string;
  readonly clusterName: string | undefined;
  /** `<resource>.<group>` each. */
  readonly apis: readonly string[];
}

/** Requests while the provider says that it is not able now, and the wait between two of them: as often as the CLI of a9s. */
const mostTries = 5;
const waitMs = 10_000;

/** Sends the wish; resolves to the provider's answer, which is for exactly these APIs. Throws `CliError`. */
export async function bindWithToken(
  context: CliContext,
  provider: ProviderDescription,
  wish: TokenBind,
): Promise<BindingResponse> {
  const token = await readToken(context, wish.tokenFile);
  const url = new URL("bind-noninteractive", provider.url).href;
  const apis = wish.apis.map(resourceNamed);
  const body = { clusterID: wish.clusterId, clusterName: wish.clusterName, apis };
  const stop = context.terminal.waiting(`Binding ${wish.apis.join(", ")}`);
  try {
    const answer = await postPatiently(context, url, body, token);
    return await checkedAnswer(answer, provider, wish.apis);
  } finally {
    stop();
  }
}

/** Reads one line, such as a token that `curl | jq -r` wrote. The content of the file never stands in a message. */
async function readToken({ terminal }: CliContext, file: string): Promise<Secret<string>> {
  const text = file === "-" ? await terminal.readAll() : await readGiven(file);
  const token = text.trim();
  if (/^[\w~+/.-]+=*$/.test(token)) return new Secret(token);
  const where = file === "-" ? "Standard input" : printable(file);
  throw new CliError(
    "Usage",
    `--token-file: ${where} holds ${token === "" ? "nothing" : "no access token"}. It must hold the token and nothing else, as the identity provider gave it. ${nothingChanged}`,
  );
}

async function readGiven(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw new CliError("Usage", `--token-file: ${printable(file)} cannot be read. ${nothingChanged}`, {
      cause,
    });
  }
}

/** Sends the body with the bearer credential; again, as often as five times, while the provider says that it is not able now. */
export async function postPatiently(
  context: CliContext,
  url: string,
  body: object,
  token: Secret<string>,
): Promise<JsonAnswer> {
  for (let tries = 1; ; tries++) {
    const headers = { authorization: `Bearer ${token.reveal()}` };
    const answer = await postJson(context, url, body, headers);
    if (answer.status < 500 || tries === mostTries) return answer;
    await context.clock.sleep(waitMs, { signal: context.signal });
  }
}

async function checkedAnswer(
  { status, body }: JsonAnswer,
  { prettyName, url }: ProviderDescription,
  wanted: readonly string[],
): Promise<BindingResponse> {
  const who = printable(prettyName || url);
  if (status !== 200) {
    const said = textAt(body, "error");
    const advice = textAt(body, "advice");
    const words = [said ?? `${who} takes no binds with a token: it answered HTTP ${status}.`, advice ?? ""];
    throw new CliError("Login", `${printable(words.join(" ").trim())} ${nothingChanged}`);
  }
  const response = await usable(() => readBindingResponse(body));
  const named = response.requests.flatMap(({ spec }) => spec.resources.map((one) => crdNameOf(one)));
  if (named.toSorted().join() === wanted.toSorted().join()) return response;
  throw new CliError(
    "Login",
    `${who} was asked for ${wanted.join(", ")} and answered with ${printable(named.join(", "))}. ${nothingChanged}`,
  );
}
