/** Flags that bound what each tenant takes. */
import { type Flag, wholeNumber } from "@klutch/program";
import { defaultAnswersPerMinute } from "./cluster-bindings/canary.ts";

/** The flags by name. */
export const tenantFlags: {
  readonly "canary-answers-per-minute": Flag<number>;
  readonly "metrics-tenants": Flag<number>;
} = {
  "canary-answers-per-minute": wholeNumber(
    {
      help: "Canary probes of one app cluster that are answered in a minute; 0 answers none, so app clusters have no canary",
      default: String(defaultAnswersPerMinute),
    },
    { least: 0, most: 600, rule: "must be 0 (no canary) to 600" },
  ),
  "metrics-tenants": wholeNumber(
    { help: "Tenants that metrics show each by itself; all others count as other", default: "50" },
    { least: 0, most: 1000 },
  ),
};
