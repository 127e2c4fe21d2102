/**
 * `kubectl bind --device`: a login on another device than this machine (RFC 8628). The provider gives a code, the person logs in with it wherever they have
 * a browser, and this machine polls until the offer comes. The rest is as in `confirm.ts`: the person here says whether that is right, and the app
 * cluster's key signs it. Addresses of the provider are shown as text and never opened.
 */
import {
  decodeDeviceLoginStart,
  decodeDevicePoll,
  deviceGrant,
  type DeviceLoginRequest,
  type DeviceLoginStart,
  type DevicePoll,
  devicePollUrl,
  longestPollSeconds,
  type AnswerKey,
  type BindingResponse,
  type LoginOffer,
  newAnswerKey,
  openOffer,
  printable,
  WireError,
  wishText,
} from "@klutch/api";
import { isRecord } from "@klutch/kube-core";
import type { CliContext } from "../context.ts";
import { CliError, nothingChanged } from "../errors.ts";
import { type JsonAnswer, postJson } from "../http.ts";
import { type ConfirmingProvider, type ConfirmOptions, finishLogin } from "./confirm.ts";
import { newSessionId, refused, usable } from "./login.ts";
import type { ProviderDescription } from "./provider.ts";

/** A provider with logins on another device. */
export type DeviceProvider = ConfirmingProvider & { readonly deviceUrl: string };

/** Options of such a login. The wish names APIs. */
export type DeviceOptions = Omit<ConfirmOptions, "browser" | "wish"> & Pick<DeviceLoginRequest, "wish">;

/** Returns the provider if it has such logins. Throws `CliError`. */
export function requireDevice(provider: ProviderDescription): DeviceProvider {
  const { deviceUrl, confirmUrl } = provider;
  if (deviceUrl !== undefined && confirmUrl !== undefined) return { ...provider, deviceUrl, confirmUrl };
  throw new CliError(
    "Login",
    `${printable(provider.prettyName || provider.url)} offers no login on another device. Leave out --device to log in with a browser, or ask the provider's operator to set --oidc-device-client-id. ${nothingChanged}`,
  );
}

/** Shows the code, waits until a person logged in with it, and confirms; resolves to the provider's answer. */
export async function deviceLogin(
  context: CliContext,
  provider: DeviceProvider,
  options: DeviceOptions,
): Promise<BindingResponse> {
  const { clusterId, clusterName, wish, signer } = options;
  const key = await newAnswerKey();
  const sessionId = newSessionId();
  const keys = { answerKey: key.publicKey, clusterKey: signer.publicKey };
  const name = clusterName === undefined ? {} : { clusterName };
  const sealed = await offerOnDevice(context, provider, {
    url: provider.deviceUrl,
    request: { sessionId, clusterId, ...name, ...keys, wish: wishText(wish) },
    caution: "a person who logs in with it binds the APIs for this app cluster, in their name",
    end: nothingChanged,
    timeoutMs: options.timeoutMs,
  });
  const offer = await openedOffer(key, sealed, sessionId);
  return finishLogin(context, provider, { ...options, key, offer, redirectUrl: deviceGrant });
}

/** A login on another device, whatever it leads to. */
export interface DeviceStart {
  /** URL of the first request; polls go below it. */
  readonly url: string;
  readonly request: object;
  /** Clause that says why no one else may have the code. */
  readonly caution: string;
  /** Ends the words of a login that failed. */
  readonly end: string;
  readonly timeoutMs: number;
}

/** Shows the code and waits until a person logged in with it; resolves to the sealed offer. */
export async function offerOnDevice(
  context: CliContext,
  provider: ProviderDescription,
  login: DeviceStart,
): Promise<string> {
  const answer = await postJson(context, login.url, login.request);
  if (answer.status !== 200) throw refused("gave no code for a login on another device", answer, login.end);
  const started = await usable(() => decodeDeviceLoginStart(answer.body));
  showCode(context, provider, started, login.caution);
  const stop = context.terminal.waiting("Waiting for the login on the other device");
  try {
    return await waitForOffer(context, login, started);
  } finally {
    stop();
  }
}

function showCode(
  context: CliContext,
  provider: ProviderDescription,
  code: DeviceLoginStart,
  caution: string,
): void {
  const { terminal } = context;
  const { userCode, verificationUri, verificationUriComplete, expiresIn } = code;
  terminal.say(
    `To log in to ${printable(provider.prettyName || provider.url)}, open this address in a browser on any device:`,
  );
  terminal.say("");
  terminal.say(`    ${printable(verificationUri)}`);
  terminal.say("");
  terminal.say(`and type this code, which is valid for ${inWords(expiresIn)}:`);
  terminal.say("");
  terminal.say(`    ${printable(userCode)}`);
  terminal.say("");
  if (verificationUriComplete !== undefined)
    terminal.say(`This address has the code in it: ${printable(verificationUriComplete)}`);
  terminal.say(`Give the code to no one: ${caution}.`);
}

function inWords(seconds: number): string {
  return seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} minutes`;
}

/** Polls until there is an answer. A provider that is away for a while, as in an upgrade, is asked again. */
async function waitForOffer(
  context: CliContext,
  { url: deviceUrl, timeoutMs, end }: DeviceStart,
  started: DeviceLoginStart,
): Promise<string> {
  const { clock, signal } = context;
  const url = devicePollUrl(deviceUrl);
  const expiresAt = clock.monotonic() + started.expiresIn * 1000;
  const giveUpAt = Math.min(expiresAt, clock.monotonic() + timeoutMs);
  let { handle, interval } = started;
  let problem: string | undefined;
  for (;;) {
    const leftMs = giveUpAt - clock.monotonic();
    await clock.sleep(Math.max(0, Math.min(leftMs, interval * 1000)), { signal });
    if (leftMs < interval * 1000) break;
    const answer = await poll(context, url, handle, end);
    if (answer.kind === "offered") return answer.offer;
    if (answer.kind === "away") {
      problem = answer.problem;
      // RFC 8628 §3.5: a client that cannot reach the server slows down by itself.
      interval = Math.min(longestPollSeconds, 2 * interval);
    } else {
      problem = undefined;
      ({ handle, interval } = answer);
    }
  }
  const advice =
    giveUpAt === expiresAt
      ? "The code has expired. Run the command again for another one."
      : "Run the command again, or give more time with --timeout.";
  throw new CliError(
    "Timeout",
    `No one logged in with the code in time. ${advice}${problem === undefined ? "" : ` At last the provider did not answer: ${problem}`} ${end}`,
  );
}

async function poll(
  context: CliContext,
  url: string,
  handle: string,
  end: string,
): Promise<DevicePoll | { readonly kind: "away"; readonly problem: string }> {
  let answer: JsonAnswer;
  try {
    answer = await postJson(context, url, { handle });
  } catch (error) {
    if (!(error instanceof CliError) || error.code !== "ProviderUnreachable") throw error;
    return { kind: "away", problem: error.message };
  }
  const { status, body } = answer;
  if (status === 200 || status === 202) return usable(() => decodeDevicePoll(status, body));
  // A page in the place of JSON is of a proxy, or of a replica of an earlier release.
  if (status === 429 || status === 503 || !isRecord(body))
    return { kind: "away", problem: `${url} answered HTTP ${status}.` };
  throw refused("did not accept the login on the other device", answer, end);
}

/** Opens the offer. Throws `CliError` if it is not for this run. */
function openedOffer(key: AnswerKey, sealed: string, sessionId: string): Promise<LoginOffer> {
  return usable(async () => {
    const offer = await openOffer(key, sealed);
    if (offer.sessionId !== sessionId) throw new WireError("offer.sessionId", "is that of another login");
    return offer;
  });
}
