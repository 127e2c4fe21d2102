/** Plays the plugin of one app cluster over HTTP: logs in with a browser or on another device, confirms the offer that comes, and keeps a session. */
import {
  type AnswerKey,
  type BindingResponse,
  confirmationText,
  decodeDeviceLoginStart,
  decodeDevicePoll,
  deviceGrant,
  type LoginOffer,
  newAnswerKey,
  newClusterKey,
  openBinding,
  openOffer,
  openSession,
  openSessionOffer,
  devicePollUrl,
  publicKeyOf,
  sessionUrls,
  signText,
} from "@klutch/api";
import { systemClock } from "@klutch/kube";
import { isRecord } from "@klutch/kube-core";
import { type Landed, TestBrowser } from "./browser.ts";

const plugin = "http://localhost:4321";
const sessionId = "session1";

/** One run of the plugin: an app cluster's key, and the key of this login. */
export interface PluginRun {
  readonly pem: string;
  readonly key: AnswerKey;
  readonly clusterId: string;
}

/** A credential, or the status and the words of the refusal. */
export type Outcome =
  | { readonly kind: "bound"; readonly response: BindingResponse }
  | { readonly kind: "refused"; readonly status: number; readonly words: string };

/** Makes the keys of one run. */
export async function newRun(clusterId: string): Promise<PluginRun> {
  return { pem: newClusterKey(), key: await newAnswerKey(), clusterId };
}

/** Logs in and returns the page; `m` is the wish of a plugin that binds several APIs, and an earlier plugin sends neither it nor keys. */
export async function openPage(
  url: string,
  login: string,
  run: PluginRun,
  m?: string,
): Promise<{ readonly browser: TestBrowser; readonly page: Landed }> {
  const browser = new TestBrowser();
  const keys = { m: m ?? "", ek: run.key.publicKey, ck: publicKeyOf(run.pem) ?? "" };
  const common = { s: sessionId, c: run.clusterId, p: "4321" };
  const query = new URLSearchParams(m === undefined ? common : { ...common, ...keys });
  const form = await browser.go(`${url}/authorize?${query.toString()}`);
  const page = await browser.submit(form, 'name="password"', { login, password: "x" });
  return { browser, page };
}

/** Sends the form of a page with these fields, whatever the page offers; stops at the plugin's address. */
export function sendForm(
  url: string,
  browser: TestBrowser,
  page: Landed,
  fields: readonly (readonly [string, string])[],
): Promise<Landed> {
  const csrf = /name="csrf" value="([^"]*)"/.exec(page.html)?.[1] ?? "";
  const body = new URLSearchParams([["s", sessionId], ["csrf", csrf], ...fields.map(([a, b]) => [a, b])]);
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return browser.go(`${url}/bind`, { method: "POST", body: body.toString(), headers }, plugin);
}

/** Opens the offer that the browser brought to the plugin, and confirms it. */
export async function confirmLanded(url: string, run: PluginRun, landed: Landed): Promise<Outcome> {
  if (landed.status !== 303) return { kind: "refused", status: landed.status, words: landed.html };
  const offer = await openOffer(run.key, landed.url.searchParams.get("offer") ?? "");
  return confirmOffer(url, run, offer, `${plugin}/callback`);
}

/** Logs in on another device: `approve` plays the person with the code. */
export async function deviceLogin(
  url: string,
  run: PluginRun,
  wish: string,
  approve: (page: string, code: string) => Promise<unknown>,
): Promise<Outcome> {
  const keys = { answerKey: run.key.publicKey, clusterKey: publicKeyOf(run.pem) ?? "" };
  const asked = { sessionId, clusterId: run.clusterId, clusterName: "prod", wish, ...keys };
  const begun = await post(`${url}/device`, asked);
  if (begun.status !== 200) return refusal(begun);
  const started = decodeDeviceLoginStart(begun.body);
  let { handle, interval } = started;
  await approve(started.verificationUri, started.userCode);
  for (let poll = 0; poll < 6; poll++) {
    await systemClock.sleep(interval * 1000);
    const answer = await post(devicePollUrl(`${url}/device`), { handle });
    if (answer.status >= 400) return refusal(answer);
    const decoded = decodeDevicePoll(answer.status === 202 ? 202 : 200, answer.body);
    if (decoded.kind === "offered")
      return confirmOffer(url, run, await openOffer(run.key, decoded.offer), deviceGrant);
    if (decoded.kind === "pending") ({ handle, interval } = decoded);
  }
  return { kind: "refused", status: 202, words: "no offer came" };
}

/** Logs in as `klutch login` does; gives back the session. */
export async function logInForSession(url: string, login: string): Promise<string> {
  const browser = new TestBrowser();
  const key = await newAnswerKey();
  const query = new URLSearchParams({ t: "session", p: "4321", s: sessionId, ek: key.publicKey });
  const form = await browser.go(`${url}/authorize?${query.toString()}`);
  const back = await browser.submit(form, 'name="password"', { login, password: "x" }, plugin);
  const { ticket } = await openSessionOffer(key, back.url.searchParams.get("offer") ?? "");
  const { body } = await post(`${url}/session`, { ticket });
  return (await openSession(key, isRecord(body) ? String(body["answer"]) : "")).session;
}

/** Binds with a session, without a browser. */
export async function bindWithSession(
  url: string,
  session: string,
  clusterID: string,
  wish: string,
): Promise<Outcome> {
  const answer = await post(sessionUrls(`${url}/session`).bind, { clusterID, wish }, session);
  if (answer.status !== 200) return refusal(answer);
  return { kind: "bound", response: answer.body as BindingResponse };
}

/** Signs an offer with the app cluster's key, as the person at the terminal lets the plugin do. */
export async function confirmOffer(
  url: string,
  { pem, key, clusterId }: PluginRun,
  offer: LoginOffer,
  redirectUrl: string,
): Promise<Outcome> {
  const { body } = await post(`${url}/renew/challenge`, {});
  const challenge = isRecord(body) ? String(body["challenge"]) : "";
  const address = `${url}/confirm`;
  const text = confirmationText({
    ...offer,
    url: address,
    challenge,
    clusterId,
    redirectUrl,
    answerKey: key.publicKey,
  });
  const answer = await post(address, { ticket: offer.ticket, challenge, signature: signText(pem, text) });
  if (answer.status !== 200) return refusal(answer);
  const sealed = isRecord(answer.body) ? String(answer.body["answer"]) : "";
  return { kind: "bound", response: await openBinding(key, sealed) };
}

/** An answer of the backend. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** Sends JSON, with a session if there is one. */
export async function post(url: string, body: object, session?: string): Promise<Answer> {
  const headers = {
    "content-type": "application/json",
    ...(session === undefined ? {} : { authorization: `Bearer ${session}` }),
  };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return { status: response.status, body: await response.json() };
}

function refusal({ status, body }: Answer): Outcome {
  return { kind: "refused", status, words: isRecord(body) ? String(body["error"]) : "" };
}
