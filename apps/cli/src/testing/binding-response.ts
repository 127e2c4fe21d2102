/** An answer to a login, as a right backend gives it. */
import type { BindingResponse } from "@klutch/api";

/** Returns the answer to the session, for one API. */
export function responseFor(sid: string, id: string = "https://idp/jane"): BindingResponse {
  return {
    kind: "BindingResponse",
    apiVersion: "klutch.anynines.com/v1alpha1",
    authentication: { oauth2CodeGrant: { sid, id } },
    kubeconfig: Buffer.from("kind: Config").toString("base64"),
    requests: [
      {
        apiVersion: "klutch.anynines.com/v1alpha1",
        kind: "APIServiceExportRequest",
        metadata: { name: "widgets.x.test" },
        spec: { resources: [{ group: "x.test", resource: "widgets" }] },
        status: {},
      },
    ],
  };
}
