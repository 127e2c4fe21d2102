/** Identifies the object that an Object of provider-kubernetes makes. */
import { recordAt, textAt } from "@klutch/kube-core";

/** Returns group, kind and name of a manifest as one text; undefined if it is not a manifest. */
export function manifestIdentity(manifest: unknown): string | undefined {
  const [apiVersion, kind] = [textAt(manifest, "apiVersion"), textAt(manifest, "kind")];
  if (apiVersion === undefined || kind === undefined) return undefined;
  const [group, version] = apiVersion.split("/");
  const { namespace = "", name = "" } = recordAt(manifest, "metadata");
  const of = version === undefined ? kind : `${group} ${kind}`;
  return `${of} ${String(namespace)}/${String(name)}`;
}
