/** `klutch offers --new`: APIs that this app cluster may bind and has not bound, as its konnector shows them on the bindings. */
import { apiServiceBindings, crdNameOf, parseAnnouncedApis, plainText } from "@klutch/api";
import { type DynamicObject, textAt, valueAt } from "@klutch/kube-core";
import type { Consumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { serves } from "./lists.ts";
import { type Column, formatRows, type ListFormat, type Row } from "./table.ts";
import type { Look } from "./watch.ts";

export const newOfferColumns: readonly Column[] = [
  { field: "api", title: "API" },
  { field: "kind", title: "KIND" },
  { field: "provider", title: "PROVIDER" },
  { field: "permissions", title: "PERMISSIONS" },
  { field: "price", title: "PRICE", isWide: true },
  { field: "description", title: "DESCRIPTION" },
];

const prettyNameLimit = 128;

/** Returns a row for each API, each once, by name. Who may write the bindings of this cluster may have written any of it. */
export function newOfferRows(bindings: readonly DynamicObject[]): readonly Row[] {
  const bound = new Set(bindings.map(({ metadata }) => metadata.name));
  const rows = new Map<string, Row>();
  for (const binding of bindings) {
    const provider = plainText(textAt(binding, "status", "providerPrettyName") ?? "", prettyNameLimit);
    for (const announced of parseAnnouncedApis(valueAt(binding, "status", "newAPIs"))) {
      const api = crdNameOf(announced);
      if (bound.has(api) || rows.has(api)) continue;
      const { kind = "", description = "", price = "-", asksPermissions = false } = announced;
      const permissions = asksPermissions ? "asks" : "none";
      rows.set(api, {
        ref: `customresourcedefinition.apiextensions.k8s.io/${api}`,
        isWell: true,
        fields: { api, kind, provider, permissions, price, description },
      });
    }
  }
  return [...rows.values()].toSorted((one, other) => (one.ref < other.ref ? -1 : 1));
}

/** Reads the bindings of the app cluster. Throws `CliError` for a cluster without them. */
export async function lookAtNewOffers(
  { signal }: CliContext,
  { client, place }: Consumer,
  format: ListFormat | undefined,
): Promise<Look> {
  const bindings = (await serves(client, apiServiceBindings, signal))
    ? await Array.fromAsync(client.listAll<DynamicObject>(apiServiceBindings, { signal }))
    : [];
  if (bindings.length === 0)
    throw new CliError(
      "Usage",
      `No API is bound in this cluster (${place}), so none is announced. Choose the app cluster with --context or --kubeconfig; in a control plane: klutch offers.`,
    );
  const rows = newOfferRows(bindings);
  if (rows.length === 0 && (format === undefined || format === "wide"))
    return { text: "No new APIs are announced to this app cluster.\n", isWell: true };
  return { text: formatRows(rows, newOfferColumns, format), isWell: true };
}
