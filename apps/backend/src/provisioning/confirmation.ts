/**
 * A login that the plugin confirms without the browser. The browser brings an offer to the plugin: who logged in, and which tenant that leads
 * to. The plugin signs it with the app cluster's key, and only then the person becomes a member and a credential is made. Nothing is kept
 * in this process: the login is sealed into a ticket, and its nonce is written down on the tenant.
 */
import {
  confirmationText,
  deviceGrant,
  type LoginConfirmation,
  sealBinding,
  sealOffer,
  type TenantRelation,
  verifyText,
} from "@klutch/api";
import type { Clock } from "@klutch/kube";
import { UserError } from "../errors.ts";
import { type Audit, recordRefusal, silentAudit } from "../audit/audit.ts";
import { randomToken, type Sealer } from "../sealed-cookie.ts";
import type { Api } from "../authorization/allowed-offers.ts";
import type { BindSession, Respond } from "./bind.ts";
import type { Person } from "../identity.ts";
import { openedUser, sealedUser } from "../authorization/sealed-user.ts";
import type { TenantIdentity } from "./tenant.ts";

/** A login whose plugin waits to confirm it. */
export interface OfferSession extends Omit<BindSession, "clusterKey" | "proof"> {
  readonly redirectUrl: string;
  readonly answerKey: string;
  /** Public key of the app cluster, which is not proven yet. */
  readonly offeredKey: string;
}

/** Offers and confirms. Both throw `UserError`. */
export interface Confirmation {
  /** URL of the confirmation, which is part of the signed text. */
  readonly url: string;
  /** Returns the sealed offer for the APIs that were chosen. Makes nothing. */
  offer(session: OfferSession, apis: readonly Api[]): Promise<string>;
  /** Makes what was offered; returns the sealed BindingResponse. */
  complete(request: LoginConfirmation, from?: { readonly address?: string | undefined }): Promise<string>;
}

/** Time in which a person answers the plugin's question. */
const ticketSeconds = 600;
const challengeMs = 60_000;
const again = "Start again with kubectl bind.";

/** A login as its ticket holds it. */
interface Ticket extends OfferSession {
  readonly nonce: string;
  readonly apis: readonly Api[];
}

export function createConfirmation(parts: {
  /** Rejects with a `UserError` if the person may not bind the API. */
  readonly requireAllowed: (person: Person, api: Api) => Promise<unknown>;
  /** Throws `UserError` if the person gets none. */
  readonly tenantFor: (identity: TenantIdentity) => {
    readonly name: string;
    readonly relation: TenantRelation;
  };
  readonly respond: Respond;
  readonly tickets: Sealer;
  /** Opens challenges of `Renewal.challenge`. */
  readonly challenges: Sealer;
  readonly url: string;
  readonly clock: Clock;
  /** Default: nothing is recorded. */
  readonly audit?: Audit | undefined;
}): Confirmation {
  const { requireAllowed, tenantFor, respond, tickets, challenges, url, clock, audit = silentAudit } = parts;
  return {
    url,
    async offer(session, apis) {
      const { sessionId, issuer, subject, displayName, verifiedEmail, answerKey, offeredKey } = session;
      const asker = { ...session, way: wayOf(session) };
      const tenant = await recordRefusal(audit, { decision: "bind", asker, apis }, async () => {
        await Promise.all(apis.map((api) => requireAllowed(session, api)));
        return tenantFor({ ...session, clusterKey: offeredKey });
      });
      const nonce = randomToken();
      const { redirectUrl, clusterId, clusterName = "" } = session;
      const login = { sessionId, clusterId, redirectUrl, answerKey, offeredKey, issuer, subject };
      const names = { clusterName, displayName: displayName ?? "", ...sealedUser(session) };
      const ticket = await tickets.seal({ ...login, ...names, ...sealedApis(apis), nonce }, ticketSeconds);
      const person = { issuer, subject, displayName, verifiedEmail };
      return sealOffer(answerKey, { sessionId, ...person, tenant, nonce, ticket });
    },
    async complete({ ticket, challenge, signature }, from = {}) {
      const opened = await openTicket(ticket);
      const login = { ...opened, ...from, way: wayOf(opened) };
      const { offeredKey: clusterKey, nonce, apis, answerKey } = login;
      await recordRefusal(audit, { decision: "bind", asker: login, apis }, async () => {
        await checkChallenge(challenge);
        if (!verifyText(clusterKey, confirmationText({ ...login, url, challenge }), signature))
          throw new UserError(403, "This app cluster's key did not sign the confirmation.", again, {
            outcome: "NotSigned",
          });
      });
      const proof = { id: nonce, confirms: true };
      const response = await respond({ ...login, clusterKey, proof }, apis);
      return sealBinding(answerKey, response);
    },
  };

  async function openTicket(ticket: string): Promise<Ticket> {
    const opened = await tickets.open(ticket);
    if (opened === "expired") throw new UserError(401, "The login was more than ten minutes ago.", again);
    if (opened === undefined)
      throw new UserError(400, "The login to confirm was not made at this backend.", again);
    const text = (name: string): string => opened[name] ?? "";
    return {
      sessionId: text("sessionId"),
      clusterId: text("clusterId"),
      redirectUrl: text("redirectUrl"),
      answerKey: text("answerKey"),
      offeredKey: text("offeredKey"),
      issuer: text("issuer"),
      subject: text("subject"),
      nonce: text("nonce"),
      apis: openedApis(opened),
      clusterName: text("clusterName") || undefined,
      displayName: text("displayName") || undefined,
      ...openedUser(opened),
    };
  }

  async function checkChallenge(challenge: string): Promise<void> {
    const opened = await challenges.open(challenge);
    const issuedAt = Number(typeof opened === "object" ? opened["issuedAt"] : Number.NaN);
    if (!(clock.now() - issuedAt <= challengeMs))
      throw new UserError(
        401,
        "The confirmation is older than a minute, or its challenge is not ours.",
        again,
      );
  }
}

/** A login on another device has no redirect URL, but the name of the grant. */
function wayOf({ redirectUrl }: Pick<OfferSession, "redirectUrl">): "device" | "confirmed" {
  return redirectUrl === deviceGrant ? "device" : "confirmed";
}

type Sealed = Readonly<Record<string, string>>;

/** A replica of the release before reads the first API only. */
function sealedApis(apis: readonly Api[]): Sealed {
  const { resource = "", group = "" } = apis[0] ?? {};
  return { resource, group, apis: JSON.stringify(apis) };
}

/** A replica of the release before sealed one API. */
function openedApis({ apis, resource = "", group = "" }: Sealed): readonly Api[] {
  return apis === undefined ? [{ resource, group }] : (JSON.parse(apis) as readonly Api[]);
}
