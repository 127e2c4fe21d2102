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
import { UserError } from "../errors.ts";
import type { Person } from "../identity.ts";
import { apisOfWish } from "../login/device-apis.ts";
import { requestOf } from "../login/open-routes.ts";
import type { Respond } from "../provisioning/bind.ts";
import type { ClusterKeyOf, ProvenKey } from "../provisioning/cluster-proof.ts";
import type { ownTenant, TenantIdentity } from "../provisioning/tenant.ts";
import type { Session, Sessions } from "./sessions.ts";

/** Parts of the bind. */
export interface SessionBindParts {
  readonly sessions: Pick<Sessions, "open">;
  readonly offers: Pick<AllowedOffers, "visible" | "unavailable">;
  readonly respond: Respond;
  /** Returns the tenant that the person has from this app cluster, with the keys that were proven for it. */
  readonly ownTenant: (identity: TenantIdentity) => ReturnType<typeof ownTenant>;
  /** Refuses binds that prove no app cluster. */
  readonly requireProof: boolean;
  /** Verifies the proof of an app cluster's key; the login that it names is the session. */
  readonly clusterKeyOf: ClusterKeyOf;
  readonly addressOf: ClientAddress;
  readonly logger: Logger;
  /** Default: nothing is recorded. */
  readonly audit?: Audit | undefined;
}

const shape =
  'Send {"clusterID": "…", "apis": [{"group": "…", "resource": "…"}]}, or a "wish" in the place of "apis".';

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
      const proven = await clusterKeyOf(query ?? {}, { sessionId: session.id, clusterId });
      requireKey(parts, asker, proven);
      return {
        proven,
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

/** A session alone, which others may have found, must not open a tenant whose app cluster has a key. */
function requireKey(
  { ownTenant: find, requireProof }: Pick<SessionBindParts, "ownTenant" | "requireProof">,
  asker: TenantIdentity,
  proven: ProvenKey | undefined,
): void {
  const { name, keys = [] } = find(asker) ?? {};
  const isProven = proven !== undefined && (keys.length === 0 || keys.includes(proven.clusterKey));
  if (isProven || (proven === undefined && keys.length === 0 && !requireProof)) return;
  throw new UserError(
    403,
    name === undefined
      ? "A session binds here only with a proof of the app cluster's key."
      : `A session opens tenant ${name} only with the key of its app cluster.`,
    "Use kubectl bind in that app cluster; with --login if its key is a new one.",
    { outcome: "NotSigned" },
  );
}

/** Leaves out the session, so that nothing of it gets into records. */
function personOf({ id: _id, startedAt: _startedAt, endsAt: _endsAt, ...person }: Session): Person {
  return person;
}
