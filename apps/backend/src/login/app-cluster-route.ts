/**
 * `POST /bind-app-cluster`: the konnector of an app cluster binds APIs with a token of its own service account. It sends the body of
 * `/bind-noninteractive`, whose `clusterID` is the name of the AppCluster, and gets the same answer.
 */
import { type AppCluster, appClusters, decodeNoninteractiveBind } from "@klutch/api";
import { isNotFound, type KubeClient } from "@klutch/kube";
import type { Logger } from "@klutch/telemetry";
import type { Hono } from "hono";
import { errors } from "jose";
import { type AppClusterPerson, verifyAppCluster } from "../app-clusters/token.ts";
import { type Audit, recordRefusal } from "../audit/audit.ts";
import { UserError } from "../errors.ts";
import type { Respond } from "../provisioning/bind.ts";
import { answerOf, refusalOf, tokenOf } from "./noninteractive-route.ts";
import { type Gate, heldOff, requestOf } from "./open-routes.ts";

const shape = 'Send {"clusterID": "<name of the AppCluster>", "apis": [{"group": "…", "resource": "…"}]}.';

/** Adds the route. */
export function addAppClusterRoute(
  app: Hono,
  parts: {
    readonly client: KubeClient;
    /** Audience of the tokens: the public URL of this route. */
    readonly audience: string;
    readonly respond: Respond;
    readonly gate: Gate;
    readonly logger: Logger;
    readonly audit: Audit;
    readonly signal: AbortSignal;
  },
): void {
  const { respond, gate, logger, audit } = parts;
  app.post("/bind-app-cluster", async (context) => {
    const held = heldOff(gate, context);
    if (held !== undefined) return held;
    let name: string | undefined;
    try {
      const token = tokenOf(context);
      const { clusterId, apis } = await requestOf(context, decodeNoninteractiveBind, shape);
      name = clusterId;
      const asked = { way: "token", address: gate.addressOf(context) } as const;
      const asker = { clusterName: clusterId, ...asked };
      const person = await recordRefusal(audit, { decision: "bind", asker, apis }, () =>
        knownBy(parts, clusterId, token),
      );
      const response = await respond({ ...person, clusterId, sessionId: "token", ...asked }, apis);
      logger.info("an app cluster bound APIs", { appCluster: clusterId, apis: apis.length });
      return answerOf(context, response);
    } catch (error) {
      return refusalOf(context, logger, name === undefined ? {} : { appCluster: name }, error);
    }
  });
}

/** Returns the app cluster whose token it is. Throws `UserError` 401, and 403 while no AppCluster has this name. */
async function knownBy(
  {
    client,
    audience,
    signal,
  }: { readonly client: KubeClient; readonly audience: string; readonly signal: AbortSignal },
  name: string,
  token: string,
): Promise<AppClusterPerson> {
  const object = await client.find<AppCluster>(appClusters, { name }, { signal }).catch((error: unknown) => {
    // A control plane of an earlier release lacks the kind.
    if (isNotFound(error)) return undefined;
    throw error;
  });
  if (object === undefined)
    throw new UserError(
      403,
      `The control plane has no AppCluster ${name}.`,
      "Ask the platform operator to create it (docs/gitops.md), or correct the name.",
      { outcome: "UnknownAppCluster" },
    );
  try {
    return await verifyAppCluster(object, token, audience);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new UserError(
      401,
      `The token is not accepted for the AppCluster ${name}: ${wordsOf(error)}.`,
      "Compare spec.identity of the AppCluster with the issuer, keys and konnector of the app cluster.",
      { cause: error, outcome: "TokenNotAccepted" },
    );
  }
}

/** Says of a signature that does not fit which field to look at. */
function wordsOf(error: Error): string {
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed)
    return "no key of spec.identity.jwks has signed it";
  return error.message;
}
