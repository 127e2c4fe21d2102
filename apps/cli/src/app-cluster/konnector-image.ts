/** The image of the konnector that runs in an app cluster. */
import {
  compareVersions,
  consumerNamespace,
  klutchVersion,
  konnectorName,
  type VersionNumbers,
  versionNumbers,
} from "@klutch/api";
import { deployments, type DynamicObject, isRecord, recordsAt, textAt } from "@klutch/kube-core";
import type { Consumer } from "../clusters.ts";

/** The parts of an image that is called as ours and has a version; undefined for any other. */
export function releasedImage(
  image: string,
): { readonly registry: string; readonly tag: string; readonly version: VersionNumbers } | undefined {
  const [, registry, tag] = /^(.+)\/konnector:([^/@]+)(?:@[^/]*)?$/.exec(image) ?? [];
  const version = tag === undefined ? undefined : versionNumbers(tag);
  return registry === undefined || tag === undefined || version === undefined
    ? undefined
    : { registry, tag, version };
}

/** Image of the konnector's Deployment, if there is one. */
export async function konnectorImage(consumer: Consumer, signal: AbortSignal): Promise<string | undefined> {
  const ref = { namespace: consumerNamespace, name: konnectorName };
  const deployment = await consumer.client.find<DynamicObject>(deployments, ref, { signal });
  if (deployment === undefined || !isRecord(deployment.spec)) return undefined;
  const containers = recordsAt(deployment.spec, "template", "spec", "containers");
  const container = containers.find((one) => one["name"] === konnectorName) ?? containers[0];
  return textAt(container, "image") ?? "";
}

/**
 * Returns true for an image of which no version is known that watches claimed objects by their names: its role has to let it watch all. One
 * that cannot be compared is taken for such.
 */
export function watchesAll(image: string | undefined): boolean {
  const released = image === undefined ? undefined : releasedImage(image);
  return (
    released === undefined ||
    compareVersions(released.version, versionNumbers(klutchVersion) ?? [0, 0, 0]) < 0
  );
}
