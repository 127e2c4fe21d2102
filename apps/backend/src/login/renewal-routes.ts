/**
 * `POST /renew/challenge` and `POST /renew`: how a konnector without a valid credential comes back. Every refusal is the same answer,
 * so that a stranger learns neither which tenants exist nor which have a key; the log says why.
 */
import { decodeRenewalRequest, type RenewalRequest, WireError } from "@klutch/api";
import type { Clock } from "@klutch/kube";
import type { Logger } from "@klutch/telemetry";
import type { Context, Hono } from "hono";
import type { Renewal } from "../provisioning/renewal.ts";

/** Requests per second that this process accepts; the rest is told to wait by `Retry-After`. */
const perSecond = 50;

/** Adds the routes. */
export function addRenewalRoutes(
  app: Hono,
  { renewal, clock, logger }: { readonly renewal: Renewal; readonly clock: Clock; readonly logger: Logger },
): void {
  const admit = createAdmission(clock);
  app.post("/renew/challenge", async (context) =>
    admit()
      ? answer(context, 200, { challenge: await renewal.challenge(), url: renewal.url })
      : busy(context),
  );
  app.post("/renew", async (context) => {
    if (!admit()) return busy(context);
    const request = await requestOf(context);
    const outcome =
      request === undefined ? ({ kind: "refused", why: "malformed" } as const) : await renewal.renew(request);
    if (outcome.kind === "refused") {
      logger.info("a renewal was refused", { namespace: request?.namespace ?? "", why: outcome.why });
      return answer(context, 403, { error: "refused" });
    }
    logger.info("renewed the credential of an app cluster", { namespace: request?.namespace ?? "" });
    return answer(context, 200, { kubeconfig: Buffer.from(outcome.kubeconfig).toString("base64") });
  });
}

async function requestOf(context: Context): Promise<RenewalRequest | undefined> {
  try {
    return decodeRenewalRequest(await context.req.json());
  } catch (error) {
    if (error instanceof WireError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function answer(context: Context, status: 200 | 403 | 429, body: Readonly<Record<string, string>>): Response {
  context.header("Cache-Control", "no-store");
  return context.json(body, status);
}

function busy(context: Context): Response {
  context.header("Retry-After", "2");
  return answer(context, 429, { error: "too many requests" });
}

/** Admits a fixed number of requests per second. */
function createAdmission(clock: Clock): () => boolean {
  let second = 0;
  let count = 0;
  return () => {
    const now = Math.floor(clock.monotonic() / 1000);
    count = now === second ? count + 1 : 1;
    second = now;
    return count <= perSecond;
  };
}
