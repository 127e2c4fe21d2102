/**
 * Asks the control plane's RBAC whether a person may bind a template: verb `bind` on the APIServiceExportTemplate. So
 * `kubectl auth can-i bind apiserviceexporttemplates/NAME --as … --as-group …` says the same.
 */
import { apiServiceExportTemplates, type TemplateReference } from "@klutch/api";
import { createMayDo, type MayDoOptions } from "./access-reviews.ts";
import type { User } from "./user-claims.ts";

/** Asks about one person and one template. */
export type MayBind = (user: User, template: TemplateReference, signal: AbortSignal) => Promise<boolean>;

/** Options of `createMayBind`. */
export type MayBindOptions = Omit<MayDoOptions, "unanswered">;

/** Creates the question. It rejects with a `UserError` 503 if the API server does not answer: no answer is a no. */
export function createMayBind(options: MayBindOptions): MayBind {
  const mayDo = createMayDo({
    ...options,
    unanswered: "The control plane does not say at the moment who may bind what, so nothing can be bound.",
  });
  const { group, plural: resource } = apiServiceExportTemplates;
  return (user, { namespace, name }, signal) =>
    mayDo(user, { verb: "bind", group, resource, namespace, name }, signal);
}
