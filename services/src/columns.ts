/** Columns of `kubectl get` that several kinds have. Crossplane puts SYNCED, READY, CONNECTION-SECRET and AGE behind them. */
import type { PrinterColumn } from "@klutch/schema";

/** Why the claim is ready or not, in one word. */
export const readyReasonColumn: PrinterColumn = {
  name: "Reason",
  type: "string",
  jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
};
