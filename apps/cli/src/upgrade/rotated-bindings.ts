/** Names the ServiceBindings that cannot go back whole to a provider in Go, while a person can still prepare it. They block no upgrade. */
import {
  bindingGenerationsAnnotation,
  claimNameLabel,
  claimNamespaceLabel,
  managedServiceBindings,
} from "@klutch/api";
import { type DynamicObject, isRecord } from "@klutch/kube-core";
import { parseJson } from "@klutch/kube";
import { counted } from "../findings.ts";
import type { ClusterReader } from "./reader.ts";
import { findings, type Findings } from "./report.ts";

/** The Go provider knows a binding at its broker by the object's UID, so by its first credentials alone. */
export async function lookForRotatedBindings(reader: ClusterReader): Promise<Findings> {
  const bindings = (await reader.list(managedServiceBindings, { metadataOnly: true })).filter(isRotated);
  if (bindings.length === 0) return findings({});
  const advice =
    `A provider in Go would keep the Secrets of ${counted(bindings.length, "rotated ServiceBinding")}, but never end their logins. Before you go back ` +
    "to one, create a second ServiceBinding beside each, let the application use its Secret, and delete the rotated one.";
  const names = bindings.map(({ metadata: { name = "", labels = {} } }) => {
    const claim = `${labels[claimNamespaceLabel] ?? ""}/${labels[claimNameLabel] ?? ""}`;
    return `Rotated: claim ${claim}, ServiceBinding ${name}.`;
  });
  return findings({ notes: [advice, ...names] });
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
