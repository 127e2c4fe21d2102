/**
 * Asks the API server, with a tenant's own token, whether the tenant may read. So the API server alone decides who somebody is and what they
 * may do; the gateway only remembers the answer for a few seconds.
 */
import type { Clock, Transport } from "@klutch/kube";
import { jsonOf, valueAt } from "@klutch/kube-core";
import { digestOf } from "./digest.ts";
import { Memory } from "./memory.ts";
import { askForRules, covers, type NamespaceRules } from "./namespace-rules.ts";

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

const reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const longestAnswer = 1024 * 1024;

/**
 * Returns an authority with an empty memory. It asks for all rights of a token in a namespace at once, because an agent watches many kinds there;
 * a right that this answer does not name is asked for by itself, so the answer can only save questions.
 */
export function createAuthority(options: AuthorityOptions): Authority {
  const { transport, clock, keepMs = 10_000, most = 50_000 } = options;
  // Only a yes counts for longer. A right that has just been given must count at once: a watch that passes through stays apart for minutes.
  const rights = new Memory<Right>(clock, { keepMs, most }, (right) => right === "allowed");
  const rules = new Memory<NamespaceRules>(clock, { keepMs, most }, (found) => found !== undefined);
  return async (question) => {
    const { authorization, verb, group, plural, namespace } = question;
    const owner = digestOf(authorization);
    if (namespace !== undefined) {
      const found = await rules.get(`${owner} ${namespace}`, () => {
        options.onAsked?.();
        return askForRules(transport, authorization, namespace);
      });
      if (found?.some((rule) => covers(rule, question)) === true) return "allowed";
    }
    return await rights.get([owner, verb, group, plural, namespace ?? "*"].join(" "), () => {
      options.onAsked?.();
      return ask(transport, question);
    });
  };
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
    const { status, text } = await transport.exchange(
      { method: "POST", path: reviews, body, headers },
      longestAnswer,
    );
    if (status === 401) return "unauthorized";
    if (status !== 201 && status !== 200) return "unknown";
    return valueAt(jsonOf(text), "status", "allowed") === true ? "allowed" : "denied";
  } catch {
    return "unknown";
  }
}
