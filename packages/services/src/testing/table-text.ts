/** Builds small tables as text, and lists their faults. */
import assert from "node:assert/strict";
import { parsePlacedYaml } from "@klutch/kube";
import { describeFault, readTable } from "../table/read-table.ts";

/** First lines of a table; fields of the claim may follow. */
export const tableHead = `apiVersion: services.klutch.anynines.com/v1alpha1
kind: DataService
metadata: { name: example }
spec:
  title: Example
  about: A service to start from.
  claim:
    kind: ExampleInstance
`;

/** Every fault of a table, as people are told of the file `example.yaml`. */
export function faultsOf(text: string, others: Parameters<typeof readTable>[1] = []): readonly string[] {
  return readTable(parsePlacedYaml(text), others).faults.map((fault) => describeFault("example.yaml", fault));
}

/** The text with its first `piece` replaced; fails when there is none. */
export function replaced(text: string, piece: string, by: string): string {
  assert.ok(text.includes(piece), piece);
  return text.replace(piece, () => by);
}
