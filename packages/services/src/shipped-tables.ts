/**
 * The tables of the shipped services. From source they are read from `service.yaml` in each folder of `services`; bundles have them inside, because
 * `tools/build` puts their content in this module's place.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { parsePlacedYaml, YamlTextError } from "@klutch/kube";
import { describeFault, readTable } from "./table/read-table.ts";
import type { ServiceTable } from "./table/service-table.ts";

let shipped: readonly ServiceTable[] | undefined;

/** Returns every table, in the order of the names of their folders. Reads them once: judging them takes a quarter of a second. */
export function shippedTables(): readonly ServiceTable[] {
  return (shipped ??= readTables(new URL("../../../services/", import.meta.url)));
}

/** Reads the tables of a folder. Throws with every fault of every file. */
export function readTables(folder: URL): readonly ServiceTable[] {
  const tables: ServiceTable[] = [];
  const faults: string[] = [];
  for (const type of readdirSync(folder).toSorted()) {
    const file = new URL(`${type}/service.yaml`, folder);
    if (!existsSync(file)) continue;
    const path = `services/${type}/service.yaml`;
    try {
      const read = readTable(parsePlacedYaml(readFileSync(file, "utf8")), tables);
      if (read.table !== undefined) tables.push(read.table);
      faults.push(...read.faults.map((fault) => describeFault(path, fault)));
    } catch (error) {
      if (!(error instanceof YamlTextError)) throw error;
      faults.push(`${path}:${error.line}: ${error.message}`);
    }
  }
  if (faults.length > 0) throw new Error(`the tables of services have faults:\n${faults.join("\n")}`);
  return tables;
}
