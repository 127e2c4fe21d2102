/** Report on bindings while their provider cannot be reached. Waiting changes are kept and continue by themselves. */
import { unreachableSinceAnnotation } from "@klutch/api";
import { isNotFound, isUnauthorized } from "@klutch/kube";
import { falseCondition, refOf, trueCondition } from "@klutch/kube-core";
import type { ReadYourWritesCache } from "@klutch/kube-runtime";
import type { Logger } from "@klutch/telemetry";
import type { BindingCluster } from "../clusters.ts";
import type { ProviderConnection } from "../provider-connection/provider-connection.ts";
import type { Outage } from "../provider-connection/reachability.ts";
import type { ProviderStatus } from "./provider-status.ts";

/** Reports `Heartbeating` when an outage begins, while it lasts, and (undefined) when it is over. */
export function reportOutage(
  outage: Outage | undefined,
  status: ProviderStatus,
  connection: Pick<ProviderConnection, "address" | "describe">,
  logger: Logger,
): void {
  if (outage === undefined) {
    logger.info("the provider can be reached again", { server: connection.address });
    status.report(trueCondition("Heartbeating"));
    return;
  }
  const { since, pending, error } = outage;
  const reason = connection.describe(error);
  const message = isUnauthorized(error)
    ? `${reason} ${pending} changes wait since ${since}`
    : `the provider has not been reached since ${since}; ${pending} changes wait: ${reason}`;
  logger.warn("the provider cannot be reached", { server: connection.address, since, pending, reason });
  status.report(
    isUnauthorized(error)
      ? falseCondition("Heartbeating", "CredentialRefused", "Error", message)
      : falseCondition("Heartbeating", "ProviderUnreachable", "Warning", message),
  );
}

/** Returns since when the bindings say that the provider cannot be reached, also those of an earlier process; undefined when none does. */
export function sinceOf(keys: readonly string[], bindings: ReadYourWritesCache): string | undefined {
  return keys
    .map((key) => bindings.get(key)?.metadata.annotations?.[unreachableSinceAnnotation])
    .find((since) => since !== undefined && !Number.isNaN(Date.parse(since)));
}

/** Writes since when the provider cannot be reached on its bindings, where it does not stand there. Does not wait. */
export function annotateOutage(
  outage: Pick<Outage, "since"> | undefined,
  keys: readonly string[],
  { client, bindingType }: BindingCluster,
  bindings: ReadYourWritesCache,
  logger: Logger,
): void {
  const since = outage?.since ?? null;
  for (const key of keys) {
    const present = bindings.get(key)?.metadata.annotations?.[unreachableSinceAnnotation] ?? null;
    if (present === since) continue;
    const patch = { metadata: { annotations: { [unreachableSinceAnnotation]: since } } };
    client.mergePatch(bindingType, refOf(key), patch).catch((error: unknown) => {
      if (!isNotFound(error)) logger.debug("a binding could not be annotated", { key, error });
    });
  }
}
