/**
 * Binds APIs for the person of a session at `POST /bind-noninteractive`. The person is the member, their rights decide, and the app cluster's key may be
 * proven in the same request, so that they share its tenant with others. The body names APIs as that of a program does, or has a wish as a
 * login on another device.
 */
import { type BindingResponse, decodeSessionBind } from "@klutch/api";
import type { Logger } from "@klutch/telemetry";
import type { Context } from "hono";
import { type Audit, recordRefusal, silentAudit } from "../audit/audit.ts";
import type { AllowedOffers } from "../authorization/allowed-offers.ts";
import type { ClientAddress } from "../login/client-address.ts";
import type { Person } from "../identity.ts";
import { apisOfWish } from "../login/device-apis.ts";
import { requestOf } from "../login/open-routes.ts";
import type { Respond } from "../provisioning/bind.ts";
import type { ClusterKeyOf } from "../provisioning/cluster-proof.ts";
import type { Session, Sessions } from "./sessions.ts";

/** Parts of the bind. */
export interface SessionBindParts {
  readonly sessions: Pick<Sessions, "open">;
  readonly offers: Pick<AllowedOffers, "visible" | "unavailable">;
  readonly respond: Respond;
  /** Verifies the proof of an app cluster's key; the login that it names is the session. */
  readonly clusterKeyOf: ClusterKeyOf;
  readonly addressOf: ClientAddress;
  readonly logger: Logger;
  /** Default: nothing is recorded. */
  readonly audit?: Audit | undefined;
}

const shape = 'Send {"clusterID": "…", "apis": [{"group": "…", "resource": "…"}]}, or a "wish" in the place of "apis".';

/** Creates it. The returned function rejects with `UserError`. */
export function createSessionBind(
  parts: SessionBindParts,
): (context: Context, session: string) => Promise<BindingResponse> {
  const { sessions, offers, respond, clusterKeyOf, addressOf, logger, audit = silentAudit } = parts;
  return async (context, text) => {
    const session = await sessions.open(text);
    const request = await requestOf(context, decodeSessionBind, shape);
    const { clusterId, clusterName = clusterId, proof, wanted } = request;
    const address = addressOf(context);
    const place = { clusterId, clusterName, sessionId: session.id, way: "session", address } as const;
    const asker = { ...personOf(session), ...place };
    const { apis, proven } = await recordRefusal(audit, { decision: "bind", asker }, async () => {
      const query = proof && { k: proof.publicKey, h: proof.challenge, g: proof.signature };
      return {
        proven: await clusterKeyOf(query ?? {}, { sessionId: session.id, clusterId }),
        apis: "kind" in wanted ? await apisOfWish(offers, session, wanted) : wanted,
      };
    });
    // As in the address of a login: it lets a person found or join a tenant, and covers this session only.
    const key = proven && { clusterKey: proven.clusterKey, proof: { id: proven.proofId, confirms: false } };
    const response = await respond({ ...asker, ...key }, apis);
    const { issuer, subject } = session;
    logger.info("a person bound APIs with a session", { issuer, subject, clusterId, apis: apis.length });
    return response;
  };
}

/** Leaves out the session, so that nothing of it gets into records. */
function personOf({ id: _id, startedAt: _startedAt, endsAt: _endsAt, ...person }: Session): Person {
  return person;
}
