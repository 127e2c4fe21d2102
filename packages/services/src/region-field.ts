/** Defines `spec.region` of instances: the choice among several brokers of a service. */
import { type Rule, type Schema, string } from "@klutch/schema";
import { telling } from "./rule-text.ts";

/** Free text: which regions exist, and for whom, is the control plane's affair and changes without a new definition. */
export const regionField: Schema<string> = string({
  maxLength: 63,
  pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
  description:
    "The region that the instance is made in, of those that the control plane offers. Default: the one that its operators chose. It cannot be changed.",
});

const words = (of: "self" | "oldSelf"): string => `{has(${of}.region) ? '"' + ${of}.region + '"' : 'unset'}`;

/** A rule of the spec, because it also holds when the field comes or goes. */
export const regionStays: Rule = telling(
  {
    rule: "has(self.region) == has(oldSelf.region) && (!has(self.region) || self.region == oldSelf.region)",
    message: "Region is an immutable field",
    fieldPath: ".region",
  },
  `it is ${words("oldSelf")} and cannot become ${words("self")}, because an instance stays at its broker; create another claim in that region`,
);
