/**
 * The part of a login on another device (RFC 8628) that is the same whatever the login leads to: the plugin gets a code for its person and polls, and
 * the offer comes as the answer to a poll. The backend stands between, because the identity provider knows only its client. Nothing is kept in
 * this process but the pace of polls: the login with its device code is sealed into the handle, so any replica can take the next poll.
 *
 * | answer of the identity provider | answer to the poll |
 * |---|---|
 * | pending, slow down | a new handle, with the time of the next poll in it |
 * | an ID token | the offer, once, as at the redirect of a login in a browser |
 * | denied, expired, anything else | the reason; the login is over |
 */
import { type DeviceLoginStart, isAnswerKey, longestPollSeconds } from "@klutch/api";
import type { Clock } from "@klutch/kube";
import { UserError } from "../errors.ts";
import type { Person } from "../identity.ts";
import { randomToken, type Sealer } from "../sealed-cookie.ts";
import type { IdentityProvider } from "./identity-provider.ts";
import { createPollPace } from "./poll-pace.ts";

/** Answer to a poll. */
export type PollAnswer =
  | { readonly kind: "tooFast"; readonly retryAfterSeconds: number }
  | { readonly kind: "pending"; readonly interval: number; readonly handle: string }
  | { readonly kind: "offered"; readonly offer: string; readonly person: Person };

/** Both reject with `UserError`. */
export interface DeviceFlow<R> {
  start(request: R): Promise<DeviceLoginStart>;
  /** `address` is that of the plugin, for records. */
  poll(handle: string, address?: string): Promise<PollAnswer>;
}

type Texts = Readonly<Record<string, string>>;

/** Parts of the flow. */
export interface DeviceFlowParts<R> {
  readonly identityProvider: Pick<IdentityProvider, "beginDevice" | "pollDevice">;
  readonly handles: Sealer;
  readonly clock: Clock;
  /** The request as texts, for the handle, and back. */
  readonly textsOf: (request: R) => Texts;
  readonly requestOf: (text: (name: string) => string) => R;
  /** Rejects with a `UserError` for a person who may not go on. */
  readonly offerTo: (person: Person, request: R, address: string | undefined) => Promise<string>;
  /** Next step after a login that is over. */
  readonly again: string;
}

/** RFC 8628 §3.5. */
const slowerSeconds = 5;
const rememberedLogins = 10_000;

/** A login as its handle holds it. */
interface Waiting<R> {
  readonly id: string;
  readonly deviceCode: string;
  readonly request: R;
  readonly interval: number;
  readonly nextAt: number;
  readonly endsAt: number;
}

/** Creates it for one replica. */
export function createDeviceFlow<R extends { readonly answerKey: string }>(
  parts: DeviceFlowParts<R>,
): DeviceFlow<R> {
  const { identityProvider, handles, clock, textsOf, requestOf, offerTo, again } = parts;
  const pace = createPollPace({ clock, capacity: rememberedLogins, longestMs: longestPollSeconds * 1000 });

  return {
    async start(request) {
      if (!(await isAnswerKey(request.answerKey)))
        throw new UserError(400, "answerKey: is not an X25519 public key in base64url.", again);
      const { code, deviceCode } = await identityProvider.beginDevice();
      const { expiresIn, interval } = code;
      const now = clock.now();
      const times = { interval, nextAt: now + interval * 1000, endsAt: now + expiresIn * 1000 };
      const handle = await sealed({ id: randomToken(), deviceCode, request, ...times });
      return { ...code, handle };
    },
    async poll(handle, address) {
      const login = await opened(handle);
      const waitMs = pace.waitMs(login.id, login.nextAt);
      if (waitMs === "ended") throw usedAlready();
      if (waitMs > 0) return { kind: "tooFast", retryAfterSeconds: Math.ceil(waitMs / 1000) };
      // Before the answer, so that polls at the same time are held off.
      pace.asked(login.id, clock.now() + login.interval * 1000);
      const outcome = await identityProvider.pollDevice(login.deviceCode);
      if (outcome.kind !== "approved") return wait(login, outcome.kind === "slowDown");
      if (!pace.end(login.id)) throw usedAlready();
      const { person } = outcome;
      return { kind: "offered", offer: await offerTo(person, login.request, address), person };
    },
  };

  async function wait(login: Waiting<R>, isSlower: boolean): Promise<PollAnswer> {
    const interval = Math.min(longestPollSeconds, login.interval + (isSlower ? slowerSeconds : 0));
    const nextAt = clock.now() + interval * 1000;
    pace.asked(login.id, nextAt);
    return { kind: "pending", interval, handle: await sealed({ ...login, interval, nextAt }) };
  }

  function sealed({ id, deviceCode, request, interval, nextAt, endsAt }: Waiting<R>): Promise<string> {
    const times = { interval: String(interval), nextAt: String(nextAt), endsAt: String(endsAt) };
    const left = Math.max(1, Math.ceil((endsAt - clock.now()) / 1000));
    return handles.seal({ id, deviceCode, ...textsOf(request), ...times }, left);
  }

  async function opened(handle: string): Promise<Waiting<R>> {
    const value = await handles.open(handle);
    if (value === "expired")
      throw new UserError(401, "The code has expired before anyone logged in with it.", again);
    if (value === undefined)
      throw new UserError(400, "The handle was not made at this backend, or it was changed.", again);
    const text = (name: string): string => value[name] ?? "";
    return {
      id: text("id"),
      deviceCode: text("deviceCode"),
      request: requestOf(text),
      interval: Number(text("interval")),
      nextAt: Number(text("nextAt")),
      endsAt: Number(text("endsAt")),
    };
  }

  function usedAlready(): UserError {
    return new UserError(400, "This login was used already.", again);
  }
}
