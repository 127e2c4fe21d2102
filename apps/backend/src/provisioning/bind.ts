/** Binds an API for a person: makes the tenant's place and answers with what the plugin needs. */
import { type BindingResponse, crdNameOf, encodeBindingResponse } from "@klutch/api";
import { UserError } from "../errors.ts";
import type { ExportTemplates } from "../export-templates.ts";
import type { OfferedApi } from "../offered-api.ts";
import type { CredentialIssuer } from "./credentials.ts";
import { ensureTenant, type TenantContext, type TenantIdentity } from "./tenant.ts";

/** User and login of the plugin that waits for the answer. */
export interface BindSession extends TenantIdentity {
  readonly sessionId: string;
}

/** An API by its group and resource. */
export interface Api {
  readonly resource: string;
  readonly group: string;
}

/** Gives back the encoded BindingResponse. Throws `UserError` before anything is made when the API is not offered. */
export type Bind = (session: BindSession, api: Api) => Promise<string>;

/** Makes the tenant and a credential. Throws `UserError` before anything is made when the API is not offered. */
export type Respond = (session: BindSession, api: Api) => Promise<BindingResponse>;

/** Parts of a bind. */
export interface BindParts {
  readonly exportTemplates: ExportTemplates;
  readonly tenant: TenantContext;
  readonly credentials: CredentialIssuer;
  readonly signal: AbortSignal;
}

/** Answers in the query of the redirect, as plugins expect that confirm no login. */
export function createBind(parts: BindParts): Bind {
  const respond = createRespond(parts);
  return async (session, api) => encodeBindingResponse(await respond(session, api));
}

/** Returns the offer of the API. Throws `UserError` 404. */
export function requireOffered(exportTemplates: ExportTemplates, api: Api): OfferedApi {
  const offer = exportTemplates.find(api.group, api.resource);
  if (offer !== undefined) return offer;
  throw new UserError(404, `${crdNameOf(api)} is not offered here.`, "Choose one of the APIs on the page.");
}

export function createRespond({ exportTemplates, tenant, credentials, signal }: BindParts): Respond {
  return async (session, api) => {
    const offer = requireOffered(exportTemplates, api);
    const namespace = await ensureTenant(tenant, session, { signal });
    const { kubeconfig } = await credentials.issue(namespace, { signal });
    return {
      kind: "BindingResponse",
      apiVersion: "klutch.anynines.com/v1alpha1",
      authentication: {
        oauth2CodeGrant: { sid: session.sessionId, id: `${session.issuer}/${session.subject}` },
      },
      kubeconfig: Buffer.from(kubeconfig).toString("base64"),
      requests: [
        {
          apiVersion: "klutch.anynines.com/v1alpha1",
          kind: "APIServiceExportRequest",
          metadata: { name: crdNameOf(api) },
          spec: {
            resources: [
              { group: api.group, resource: api.resource, permissionClaims: offer.permissionClaims },
            ],
          },
          status: {},
        },
      ],
    };
  };
}
