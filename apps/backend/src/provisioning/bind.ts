/** Binds APIs for a person: makes the tenant's place and answers with what the plugin needs. */
import { type BindingResponse, crdNameOf, encodeBindingResponse } from "@klutch/api";
import { type Audit, recordRefusal, silentAudit } from "../audit/audit.ts";
import type { AllowedOffers, Api } from "../authorization/allowed-offers.ts";
import type { OfferedApi } from "../offered-api.ts";
import type { CredentialIssuer } from "./credentials.ts";
import { ensureTenant, type TenantContext, type TenantIdentity } from "./tenant.ts";

/** User and login of the plugin that waits for the answer. */
export interface BindSession extends TenantIdentity {
  readonly sessionId: string;
}

/** Gives back the encoded BindingResponse. Throws `UserError` before anything is made when one of the APIs is not offered. */
export type Bind = (session: BindSession, apis: readonly Api[]) => Promise<string>;

/** Makes the tenant and a credential. Throws `UserError` before anything is made when the person may not bind one of the APIs. */
export type Respond = (session: BindSession, apis: readonly Api[]) => Promise<BindingResponse>;

/** Parts of a bind. */
export interface BindParts {
  readonly offers: Pick<AllowedOffers, "require">;
  /** Writes down who got what, before a credential is made. */
  readonly record?:
    | ((namespace: string, session: BindSession, offer: OfferedApi) => Promise<void>)
    | undefined;
  readonly tenant: TenantContext;
  /** Default: nothing is recorded. */
  readonly audit?: Audit | undefined;
  readonly credentials: CredentialIssuer;
  readonly signal: AbortSignal;
}

/** Answers in the query of the redirect, as plugins expect that confirm no login. */
export function createBind(parts: BindParts): Bind {
  const respond = createRespond(parts);
  return async (session, apis) => encodeBindingResponse(await respond(session, apis));
}

/** Creates it: checks the right, makes the tenant, writes the record, and makes the credential last. Each yes and no is audited. */
export function createRespond(parts: BindParts): Respond {
  const respond = respondOf(parts);
  const { audit = silentAudit } = parts;
  return (session, apis) =>
    recordRefusal(audit, { decision: "bind", asker: session, apis }, async () => {
      const { namespace, response } = await respond(session, apis);
      audit.record({
        decision: "bind",
        allowed: true,
        outcome: "Allowed",
        asker: session,
        apis,
        tenant: namespace,
      });
      return response;
    });
}

function respondOf({ offers, record, tenant, credentials, signal }: BindParts) {
  return async (
    session: BindSession,
    apis: readonly Api[],
  ): Promise<{ readonly namespace: string; readonly response: BindingResponse }> => {
    const allowed = await Promise.all(apis.map((api) => offers.require(session, api)));
    const namespace = await ensureTenant(tenant, session, { signal });
    for (const offer of allowed) await record?.(namespace, session, offer);
    const { kubeconfig } = await credentials.issue(namespace, { signal });
    const response: BindingResponse = {
      kind: "BindingResponse",
      apiVersion: "klutch.anynines.com/v1alpha1",
      authentication: {
        oauth2CodeGrant: { sid: session.sessionId, id: `${session.issuer}/${session.subject}` },
      },
      kubeconfig: Buffer.from(kubeconfig).toString("base64"),
      requests: allowed.map((offer) => requestFor(offer)),
    };
    return { namespace, response };
  };
}

/** The request that the plugin creates for one API. */
function requestFor({ group, resource, permissionClaims }: OfferedApi): BindingResponse["requests"][number] {
  return {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceExportRequest",
    metadata: { name: crdNameOf({ group, resource }) },
    spec: { resources: [{ group, resource, permissionClaims }] },
    status: {},
  };
}
