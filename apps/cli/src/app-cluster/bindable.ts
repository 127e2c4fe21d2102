/** Finds out before a login, and before any question, that no API can be bound in an app cluster. */
import { apiServiceBindingCrd, consumerNamespace } from "@klutch/api";
import { customResourceDefinitions, type DynamicObject, textAt } from "@klutch/kube-core";
import type { Consumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { CliError, nothingChanged } from "../errors.ts";
import { listBindings } from "./bound-resource.ts";
import { hasLiveKonnector, namesOf, needsKonnector, readHome } from "./home.ts";

/** Throws `CliError` when no API can be bound there, with what to do. */
export async function requireBindable(context: CliContext, consumer: Consumer): Promise<void> {
  await requireNamespacedBindings(consumer, context.signal);
  await requireLivingNamespace(context, consumer);
}

/**
 * Throws when the app cluster has the kind APIServiceBinding of Klutch in Go up to 1.5, which is cluster-scoped: the scope cannot change, so no
 * binding can be added there.
 */
async function requireNamespacedBindings(consumer: Consumer, signal: AbortSignal): Promise<void> {
  const { name } = apiServiceBindingCrd.metadata;
  const crd = await consumer.client.find<DynamicObject>(customResourceDefinitions, { name }, { signal });
  if (textAt(crd?.spec, "scope") !== "Cluster") return;
  throw new CliError(
    "Conflict",
    `No API can be bound here: the CustomResourceDefinition ${name} of an installation in Go is cluster-scoped, and its scope cannot change. Bound APIs go on. ${nothingChanged} See docs/upgrade.md, "An installation in Go"; klutch upgrade --check lists the bound APIs.`,
  );
}

/** Throws while klutch-bind is being deleted: nothing can be made in it, and it may wait for a konnector that is gone. */
async function requireLivingNamespace(context: CliContext, consumer: Consumer): Promise<void> {
  const home = await readHome(context, consumer);
  if (home.namespace !== "terminating") return;
  const waiting = ((await listBindings(consumer, context.signal)) ?? []).filter(needsKonnector);
  const remedy =
    waiting.length > 0 && !hasLiveKonnector(home)
      ? `It waits for ${namesOf(waiting)}, and no konnector works that could unbind ${waiting.length === 1 ? "it" : "them"}. klutch hand-back lets ${waiting.length === 1 ? "it" : "them"} go: claims and databases stay. Then klutch unbind --all`
      : "klutch unbind --all";
  throw new CliError(
    "Conflict",
    `No API can be bound in this cluster (${consumer.place}) now: its namespace ${consumerNamespace} is being deleted since ${home.terminatingSince}. ${remedy} removes the rest of Klutch. After that, run this command again. ${nothingChanged}`,
  );
}
