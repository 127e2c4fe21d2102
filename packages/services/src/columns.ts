/** Columns of `kubectl get` that several kinds have. Crossplane puts SYNCED, READY, CONNECTION-SECRET and AGE behind them. */
import type { PrinterColumn } from "@klutch/schema";

/** A column of text. */
export function textColumn(name: string, jsonPath: string): PrinterColumn {
  return { name, type: "string", jsonPath };
}

/** Column with the claim's reason for its readiness, in one word. */
export const readyReasonColumn: PrinterColumn = textColumn(
  "Reason",
  '.status.conditions[?(@.type=="Ready")].reason',
);
