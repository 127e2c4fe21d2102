/** Refuses one app cluster too many, before anything is made for it. */
import { identityAnnotation, splitIdentity } from "@klutch/api";
import type { KubeObject } from "@klutch/kube-core";
import { UserError } from "../errors.ts";
import type { Limits } from "../limits.ts";

/** `namespaces` are all that the backend knows; those of app clusters carry `<subject>#<cluster id>`. Throws `UserError`. */
export function refuseTooMany(
  namespaces: Iterable<KubeObject>,
  subject: string,
  limits: Pick<Limits, "clusters" | "clustersPerUser">,
): void {
  const identities = [...namespaces].flatMap(
    ({ metadata }) => metadata.annotations?.[identityAnnotation] ?? [],
  );
  const own = identities.filter((identity) => splitIdentity(identity).subject === subject);
  if (own.length >= limits.clustersPerUser) {
    throw new UserError(
      429,
      `You have bound ${own.length} app clusters; this provider allows ${limits.clustersPerUser} per user.`,
      "Ask the platform operator to remove unused ones, or to raise --max-clusters-per-user.",
    );
  }
  if (identities.length >= limits.clusters) {
    throw new UserError(
      503,
      `This provider has reached its limit of ${limits.clusters} app clusters.`,
      "Ask the platform operator to raise --max-clusters.",
    );
  }
}
