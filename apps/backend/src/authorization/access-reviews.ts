/** Asks the control plane's RBAC what a person may do, by SubjectAccessReview (Kubernetes documentation, Authorization). */
import type { Clock, KubeClient } from "@klutch/kube";
import { type DynamicObject, recordAt, subjectAccessReviews } from "@klutch/kube-core";
import { UserError } from "../errors.ts";
import { createRemembered } from "./remembered.ts";
import type { User } from "./user-claims.ts";

/** One thing that a person may do, or not; without a namespace in all of them. */
export interface ResourceAttributes {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** Asks about one person. It rejects with a `UserError` 503 if the API server does not answer: no answer is a no. */
export type MayDo = (user: User, what: ResourceAttributes, signal: AbortSignal) => Promise<boolean>;

/** An answer holds this long, so that a page that is loaded again asks nothing. */
const defaultRememberedMs = 10_000;
const mostRemembered = 10_000;
const timeoutMs = 5_000;

/** Options of `createMayDo`. */
export interface MayDoOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** Words for a question without an answer: the things that are not possible then. */
  readonly unanswered: string;
  /** Longest wait for one answer in milliseconds. Default 5,000. */
  readonly timeoutMs?: number | undefined;
  /** Milliseconds for which an answer holds. Default 10,000. */
  readonly rememberedMs?: number | undefined;
}

/** Creates the question, with a memory of its own. */
export function createMayDo({ client, clock, unanswered, ...options }: MayDoOptions): MayDo {
  const forMs = options.rememberedMs ?? defaultRememberedMs;
  const answers = createRemembered<boolean>({ clock, forMs, most: mostRemembered });
  const ask = async (user: User, what: ResourceAttributes): Promise<boolean> => {
    const signal = AbortSignal.timeout(options.timeoutMs ?? timeoutMs);
    try {
      const review = await client.create<DynamicObject>(subjectAccessReviews, reviewOf(user, what), {
        signal,
      });
      return recordAt(review, "status")["allowed"] === true;
    } catch (cause) {
      throw new UserError(
        503,
        unanswered,
        "Try again in a minute. If it goes on, ask the platform operator.",
        { cause },
      );
    }
  };
  return async (user, what, signal) => {
    signal.throwIfAborted();
    const { verb, group, resource, namespace, name } = what;
    const key = JSON.stringify([user.user, user.groups, verb, group, resource, namespace, name]);
    return answers(key, () => ask(user, what));
  };
}

function reviewOf({ user, groups }: User, resourceAttributes: ResourceAttributes): DynamicObject {
  return {
    apiVersion: "authorization.k8s.io/v1",
    kind: subjectAccessReviews.kind,
    metadata: {},
    spec: {
      user,
      // As for everybody who logs in to the API server itself.
      groups: [...groups, "system:authenticated"],
      resourceAttributes,
    },
  };
}
