/**
 * Asks the control plane's RBAC whether a person may bind a template: verb `bind` on the APIServiceExportTemplate, by SubjectAccessReview
 * (Kubernetes documentation, Authorization). So `kubectl auth can-i bind apiserviceexporttemplates/NAME --as … --as-group …` says the same.
 */
import { apiServiceExportTemplates, type TemplateReference } from "@klutch/api";
import type { Clock, KubeClient } from "@klutch/kube";
import { type DynamicObject, recordAt, subjectAccessReviews } from "@klutch/kube-core";
import { UserError } from "../errors.ts";
import { createRemembered } from "./remembered.ts";
import type { User } from "./user-claims.ts";

/** Asks about one person and one template. */
export type MayBind = (user: User, template: TemplateReference, signal: AbortSignal) => Promise<boolean>;

/** An answer holds this long, so that a page that is loaded again asks nothing. */
const rememberedMs = 10_000;
const mostRemembered = 10_000;
const timeoutMs = 5_000;

/** Options of `createMayBind`. */
export interface MayBindOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** Longest wait for one answer in milliseconds. Default 5,000. */
  readonly timeoutMs?: number | undefined;
}

/** Creates the question. It rejects with a `UserError` 503 if the API server does not answer: no answer is a no. */
export function createMayBind({ client, clock, ...options }: MayBindOptions): MayBind {
  const answers = createRemembered<boolean>({ clock, forMs: rememberedMs, most: mostRemembered });
  const ask = async (user: User, template: TemplateReference): Promise<boolean> => {
    const signal = AbortSignal.timeout(options.timeoutMs ?? timeoutMs);
    try {
      const review = await client.create<DynamicObject>(subjectAccessReviews, reviewOf(user, template), {
        signal,
      });
      return recordAt(review, "status")["allowed"] === true;
    } catch (cause) {
      throw new UserError(
        503,
        "The control plane does not say at the moment who may bind what, so nothing can be bound.",
        "Try again in a minute. If it goes on, ask the platform operator.",
        { cause },
      );
    }
  };
  return async (user, template, signal) => {
    signal.throwIfAborted();
    const key = JSON.stringify([user.user, user.groups, template.namespace, template.name]);
    return answers(key, () => ask(user, template));
  };
}

function reviewOf({ user, groups }: User, { namespace, name }: TemplateReference): DynamicObject {
  const { group, plural: resource } = apiServiceExportTemplates;
  return {
    apiVersion: "authorization.k8s.io/v1",
    kind: subjectAccessReviews.kind,
    metadata: {},
    spec: {
      user,
      // As for everybody who logs in to the API server itself.
      groups: [...groups, "system:authenticated"],
      resourceAttributes: { verb: "bind", group, resource, namespace, name },
    },
  };
}
