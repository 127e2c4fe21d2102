/** A backend's routes for logins on another device, at an identity provider that lies. */
import assert from "node:assert/strict";
import {
  type AnswerKey,
  crdNameOf,
  type LoginOffer,
  newAnswerKey,
  newClusterKey,
  openOffer,
  publicKeyOf,
} from "@klutch/api";
import { type Clock, systemClock } from "@klutch/kube";
import { createLogger, Secret } from "@klutch/telemetry";
import { Hono } from "hono";
import { defaultUserRules } from "../authorization/user-claims.ts";
import { addDeviceRoutes } from "../login/device-routes.ts";
import { IdentityProvider } from "../login/identity-provider.ts";
import type { OfferedApi } from "../offered-api.ts";
import type { BindSession } from "../provisioning/bind.ts";
import { createConfirmation } from "../provisioning/confirmation.ts";
import { createSealer } from "../sealed-cookie.ts";
import { lyingDeviceClient, type LyingDeviceFlow, startLyingDeviceFlow } from "./lying-device-flow.ts";
import { lyingClientId } from "./lying-identity-provider.ts";
import { mariadb, postgresql } from "./service-offers.ts";

/** Keys of a backend. */
export const keysOf = (byte: number): Parameters<typeof createSealer>[1] => ({
  signing: new Secret(Buffer.alloc(32, byte)),
  encryption: undefined,
});
/** URL of confirmations. */
export const url = "https://backend.example.org/confirm";
/** The app cluster's key. */
export const pem: string = newClusterKey();
/** The key of the plugin's login. */
export const answerKey: AnswerKey = await newAnswerKey();
const fields = ["sessionId", "clusterId", "clusterName", "answerKey", "clusterKey", "wish"] as const;

/** First request of the plugin. */
export const body: Readonly<Record<(typeof fields)[number], string>> = {
  sessionId: "session1",
  clusterId: "abc123",
  clusterName: "prod",
  answerKey: answerKey.publicKey,
  clusterKey: publicKeyOf(pem) ?? "",
  wish: "service=postgresql",
};
export const clientSecret = "a-client-secret-that-is-long-enough";

/** An answer of the backend. */
export interface Answer {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly retryAfter: string | null;
}

/** Parts of one replica that a test replaces. */
export interface ReplicaChange {
  /** Byte of its keys. Default: 7. */
  readonly keys?: number;
  readonly offers?: readonly OfferedApi[];
  readonly admit?: () => void;
  readonly busy?: boolean;
  readonly knownGroups?: readonly string[];
}

/** A replica of the backend. */
export interface Replica {
  readonly post: (path: string, body: unknown) => Promise<Answer>;
  readonly confirmation: ReturnType<typeof createConfirmation>;
  readonly challenge: () => Promise<string>;
}

/** One identity provider with replicas of the backend, in a time that the test turns. */
export interface Stage {
  readonly flow: LyingDeviceFlow;
  readonly lines: string[];
  readonly bound: { readonly session: BindSession; readonly apis: readonly string[] }[];
  readonly pass: (seconds: number) => void;
  readonly replica: (change?: ReplicaChange) => Replica;
}

/** Makes it. */
export async function stage(stack: AsyncDisposableStack): Promise<Stage> {
  const flow = stack.use(await startLyingDeviceFlow());
  const lines: string[] = [];
  const logger = createLogger({ name: "test", write: (line) => lines.push(line) });
  const bound: Stage["bound"] = [];
  let passed = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + passed };
  return {
    flow,
    lines,
    bound,
    pass: (seconds) => void (passed += seconds * 1000),
    replica({ keys: byte = 7, offers = [...postgresql, mariadb], admit, busy, knownGroups = [] } = {}) {
      const keys = keysOf(byte);
      const config = {
        issuer: flow.provider.issuer,
        clientId: lyingClientId,
        clientSecret: new Secret(clientSecret),
        callbackUrl: "http://127.0.0.1:1/callback",
        authorizeUrl: undefined,
        deviceClientId: lyingDeviceClient,
        userRules: defaultUserRules,
      };
      const challenges = createSealer("renewal", keys);
      const confirmation = createConfirmation({
        requireAllowed: () => Promise.resolve(),
        tenantFor: () => ({ name: "cluster-one", relation: "founds" }),
        respond: async (session, apis) => {
          bound.push({ session, apis: apis.map(crdNameOf) });
          return {
            kind: "BindingResponse",
            apiVersion: "klutch.anynines.com/v1alpha1",
            authentication: { oauth2CodeGrant: { sid: session.sessionId, id: session.subject } },
            kubeconfig: "a3ViZWNvbmZpZw==",
            requests: [],
          };
        },
        tickets: createSealer("ticket", keys),
        challenges,
        url,
        clock,
      });
      const app = new Hono();
      addDeviceRoutes(app, {
        identityProvider: new IdentityProvider(config, clock),
        offers: {
          visible: () => Promise.resolve(offers),
          unavailable: () => Promise.resolve([]),
        },
        confirmation,
        admit: admit ?? (() => undefined),
        knownGroups: (groups) => Promise.resolve(groups.filter((one) => knownGroups.includes(one))),
        handles: createSealer("device", keys),
        clock,
        gate: { admit: () => busy !== true, addressOf: () => undefined },
        logger,
      });
      return {
        confirmation,
        challenge: () => challenges.seal({ issuedAt: String(clock.now()), nonce: "n" }, 60),
        async post(path, sent) {
          const init = { method: "POST", headers: { "content-type": "application/json" } };
          const text = typeof sent === "string" ? sent : JSON.stringify(sent);
          const response = await app.request(path, { ...init, body: text });
          const answer = await response.text();
          const json = JSON.parse(answer) as Answer["json"];
          return {
            status: response.status,
            json,
            text: answer,
            retryAfter: response.headers.get("retry-after"),
          };
        },
      };
    },
  };
}

export const handleOf = ({ json }: Answer): string => String(json["handle"]);
export const errorOf = ({ json }: Answer): string => String(json["error"]);
export const offerOf = async ({ json, text }: Answer): Promise<LoginOffer> => {
  assert.ok(typeof json["offer"] === "string", text);
  return openOffer(answerKey, json["offer"]);
};
