/** Reads the region in which the composition function placed a managed resource. */
import { claimKindAnnotation, instanceTypeLabel, regionLabel } from "@klutch/api";
import type { Managed } from "@klutch/crossplane";
import { notYet } from "../claims/waiting.ts";
import { shownName } from "../claims/names.ts";

/**
 * The type of data service of a resource at a broker with a region, whose ProviderConfig may have any name; undefined for any other. Without a
 * region the label alone says nothing: people write more than the type into it.
 */
export function typeInRegion({ metadata: { labels } }: Managed): string | undefined {
  return labels?.[regionLabel] === undefined ? undefined : labels[instanceTypeLabel];
}

/**
 * Throws `NotYetError` while the function has not seen where the object is that this one follows: it may name the backup manager of another
 * region. Only for what the function composes.
 */
export function checkFollows(managed: Managed, other: Managed, waitingFor: "Instance" | "Backup"): void {
  const region = other.metadata.labels?.[regionLabel];
  if (region === undefined || managed.metadata.labels?.[regionLabel] === region) return;
  if (managed.metadata.annotations?.[claimKindAnnotation] === undefined) return;
  throw notYet(
    `the ${waitingFor.toLowerCase()} ${shownName(other)} is in the region ${region}; the ${managed.kind} goes there within a minute`,
    waitingFor,
  );
}
