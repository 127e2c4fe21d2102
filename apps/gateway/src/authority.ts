/**
 * Asks the API server, with a tenant's own token, whether the tenant may read. So the API server alone decides who somebody is and what they
 * may do; the gateway only remembers the answer for a few seconds.
 */
import { createHmac, randomBytes } from "node:crypto";
import type { Clock, Transport } from "@klutch/kube";
import { jsonOf, valueAt } from "@klutch/kube-core";

/** `unknown`: the API server gave no usable answer. */
export type Right = "allowed" | "denied" | "unauthorized" | "unknown";

/** A question about one collection. */
export interface Question {
  readonly authorization: string;
  readonly verb: "list" | "watch";
  readonly group: string;
  readonly plural: string;
  /** All namespaces when absent. */
  readonly namespace: string | undefined;
}

/** Options of `createAuthority`. */
export interface AuthorityOptions {
  /** Without credentials of its own. */
  readonly transport: Pick<Transport, "exchange">;
  readonly clock: Clock;
  /** Time for which a yes counts. Default 10 000. */
  readonly keepMs?: number | undefined;
  /** Answers that are kept. Default 50 000. */
  readonly most?: number | undefined;
  /** Called before each question that is put to the API server. */
  readonly onAsked?: (() => void) | undefined;
}

/** Answers questions. */
export type Authority = (question: Question) => Promise<Right>;

const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const longestAnswer = 1024 * 1024;

/** Returns an authority with an empty memory. */
export function createAuthority(options: AuthorityOptions): Authority {
  const { clock, keepMs = 10_000, most = 50_000 } = options;
  const answers = new Map<string, { readonly right: Promise<Right>; readonly untilMs: number }>();
  return (question) => {
    const { authorization, verb, group, plural, namespace } = question;
    const key = [digestOf(authorization), verb, group, plural, namespace ?? "*"].join(" ");
    const nowMs = clock.monotonic();
    const kept = answers.get(key);
    if (kept !== undefined && kept.untilMs > nowMs) return kept.right;
    answers.delete(key);
    options.onAsked?.();
    const right = ask(options.transport, question);
    answers.set(key, { right, untilMs: nowMs + keepMs });
    // The oldest stand first.
    for (const [old, { untilMs }] of answers) {
      if (answers.size <= most && untilMs > nowMs) break;
      answers.delete(old);
    }
    // Only a yes counts for longer. A right that has just been given must count at once: a watch that passes through stays apart for minutes.
    void right.then((found) => {
      if (found !== "allowed" && answers.get(key)?.right === right) answers.delete(key);
    });
    return right;
  };
}

const key = randomBytes(32);

/** Returns a name for a credential which tells nothing about it, and holds for this process only. */
export function digestOf(authorization: string): string {
  return createHmac("sha256", key).update(authorization).digest("base64url");
}

async function ask(
  transport: AuthorityOptions["transport"],
  { authorization, verb, group, plural: resource, namespace }: Question,
): Promise<Right> {
  const body = JSON.stringify({
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    spec: {
      resourceAttributes: { verb, group, resource, ...(namespace === undefined ? {} : { namespace }) },
    },
  });
  try {
    const headers = { authorization };
    const { status, text } = await transport.exchange({ method: "POST", path, body, headers }, longestAnswer);
    if (status === 401) return "unauthorized";
    if (status !== 201 && status !== 200) return "unknown";
    return valueAt(jsonOf(text), "status", "allowed") === true ? "allowed" : "denied";
  } catch {
    return "unknown";
  }
}
