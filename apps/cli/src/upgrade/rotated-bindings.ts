/** Names the ServiceBindings that cannot go back whole to a provider in Go, while a person can still prepare it. They block no upgrade. */
import {
  bindingGenerationsAnnotation,
  claimNameLabel,
  claimNamespaceLabel,
  managedServiceBindings,
} from "@klutch/api";
import { type DynamicObject, isRecord } from "@klutch/kube-core";
import { parseJson } from "@klutch/kube";
import type { ClusterReader } from "./reader.ts";
import { findings, type Findings } from "./report.ts";

/** The Go provider knows a binding at its broker by the object's UID, so by its first credentials alone. */
export async function lookForRotatedBindings(reader: ClusterReader): Promise<Findings> {
  const bindings = await reader.list(managedServiceBindings, { metadataOnly: true });
  return findings({
    notes: bindings.filter(isRotated).map(({ metadata: { name = "", labels = {} } }) => {
      const claim = `${labels[claimNamespaceLabel] ?? ""}/${labels[claimNameLabel] ?? ""}`;
      return (
        `ServiceBinding ${name} (claim ${claim}) was rotated: a provider in Go would keep its Secret, but never end its login. ` +
        "Before you go back to one, create a second ServiceBinding, let the application use its Secret, and delete this one."
      );
    }),
  });
}

/** A record that cannot be read may name logins, too. */
function isRotated({ metadata }: DynamicObject): boolean {
  const text = metadata.annotations?.[bindingGenerationsAnnotation];
  if (text === undefined) return false;
  try {
    const record = parseJson(text, bindingGenerationsAnnotation);
    if (!isRecord(record) || !Array.isArray(record["old"])) return true;
    return record["current"] !== 0 || record["old"].length > 0 || record["next"] !== undefined;
  } catch {
    return true;
  }
}
