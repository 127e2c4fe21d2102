/** Printing objects and tables on standard output. */
import { type APIServiceBinding, printable, printableLines } from "@klutch/api";
import { formatYaml } from "@klutch/kube";
import { findCondition, type KubeObject } from "@klutch/kube-core";
import type { OutputFormat } from "./options.ts";

/** Objects as kubectl prints them: a YAML stream, JSON (a List when there are several), or `kind.group/name` lines. */
export function formatObjects(
  objects: readonly KubeObject[],
  format: OutputFormat,
  options: { readonly showManagedFields?: boolean | undefined } = {},
): string {
  const shown = options.showManagedFields === true ? objects : objects.map(withoutManagedFields);
  switch (format) {
    case "yaml":
      return shown.map(yamlOf).join("---\n");
    case "json":
      return `${JSON.stringify(shown.length === 1 ? shown[0] : { apiVersion: "v1", kind: "List", items: shown }, null, 4)}\n`;
    case "name":
      return shown.map((object) => `${nameOf(object)}\n`).join("");
  }
}

/** Prints JSON, which is YAML too, if characters need escapes, so that every reader of the output understands them alike. */
export function yamlOf(object: object): string {
  const text = formatYaml(object);
  return printableLines(text) === text ? text : `${JSON.stringify(object, null, 2)}\n`;
}

/** Returns a document of ours for programs. */
export function documentText(document: object, format: "json" | "yaml"): string {
  return format === "json" ? `${JSON.stringify(document, null, 2)}\n` : formatYaml(document);
}

function withoutManagedFields(object: KubeObject): KubeObject {
  return { ...object, metadata: { ...object.metadata, managedFields: undefined } };
}

function nameOf({ apiVersion, kind, metadata }: KubeObject): string {
  const group = apiVersion.includes("/") ? `.${apiVersion.split("/")[0]}` : "";
  return `${kind.toLowerCase()}${group}/${metadata.name ?? metadata.generateName ?? ""}`;
}

/** Bindings with the columns of the CRD. */
export function bindingTable(bindings: readonly APIServiceBinding[], now: number): string {
  const rows = bindings.map(({ metadata, status }) => {
    const ready = findCondition(status?.conditions, "Ready");
    return [
      metadata.name ?? "",
      status?.providerPrettyName ?? "",
      ready?.status ?? "",
      ready?.message ?? ready?.reason ?? "",
      ageOf(metadata.creationTimestamp, now),
    ];
  });
  return columns([["NAME", "PROVIDER", "READY", "MESSAGE", "AGE"], ...rows]);
}

/** Left-aligned columns, three spaces apart. Cells may be foreign text. */
export function columns(cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map((cell) => printable(cell)));
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  }
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, index) => cell.padEnd(widths[index] ?? 0))
          .join("   ")
          .trimEnd()}\n`,
    )
    .join("");
}

function ageOf(created: string | undefined, now: number): string {
  return created === undefined ? "" : ageText(now - Date.parse(created));
}

/** Returns an age as kubectl prints it; one in the future is 0. */
export function ageText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`;
}
