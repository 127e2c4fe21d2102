/** Binds an API for a person: makes the tenant's place and answers with what the plugin needs. */
import { crdNameOf, encodeBindingResponse } from "@klutch/api";
import { UserError } from "../errors.ts";
import type { ExportTemplates } from "../export-templates.ts";
import type { CredentialIssuer } from "./credentials.ts";
import { ensureTenant, type TenantContext, type TenantIdentity } from "./tenant.ts";

/** User and login of the plugin that waits for the answer. */
export interface BindSession extends TenantIdentity {
  readonly sessionId: string;
}

/** Gives back the encoded BindingResponse. Throws `UserError` before anything is made when the API is not offered. */
export type Bind = (
  session: BindSession,
  api: { readonly resource: string; readonly group: string },
) => Promise<string>;

export function createBind(parts: {
  readonly exportTemplates: ExportTemplates;
  readonly tenant: TenantContext;
  readonly credentials: CredentialIssuer;
  readonly signal: AbortSignal;
}): Bind {
  const { exportTemplates, tenant, credentials, signal } = parts;
  return async (session, api) => {
    const offer = exportTemplates.find(api.group, api.resource);
    if (offer === undefined) {
      throw new UserError(
        404,
        `${crdNameOf(api)} is not offered here.`,
        "Choose one of the APIs on the page.",
      );
    }
    const namespace = await ensureTenant(tenant, session, { signal });
    const { kubeconfig } = await credentials.issue(namespace, { signal });
    return encodeBindingResponse({
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
    });
  };
}
