/** What an Object of provider-kubernetes makes. */
import { recordAt, textAt } from "@klutch/kube-core";

/** Group, kind and name of a manifest, as one text; undefined for what is none. */
export function manifestIdentity(manifest: unknown): string | undefined {
  const [apiVersion, kind] = [textAt(manifest, "apiVersion"), textAt(manifest, "kind")];
  if (apiVersion === undefined || kind === undefined) return undefined;
  const [group, version] = apiVersion.split("/");
  const { namespace = "", name = "" } = recordAt(manifest, "metadata");
  const of = version === undefined ? kind : `${group} ${kind}`;
  return `${of} ${String(namespace)}/${String(name)}`;
}
