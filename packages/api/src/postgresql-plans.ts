/** Services and plans of a9s PostgreSQL and which changes between plans are possible. */
import type { Rule } from "@klutch/schema";

/** Offerings, by the name in a claim. */
export const postgresqlServices: readonly string[] = [
  "a9s-postgresql13",
  "a9s-postgresql15",
  "a9s-postgresql17",
];

const sizes = ["single-nano", "single-small", "single-big", "replica-small", "replica-big"];
const variants = ["", "-bionic", "-ssl", "-ssl-bionic"];

/** All twenty plans. */
export const postgresqlPlans: readonly string[] = sizes.flatMap((size) =>
  variants.map((variant) => `postgresql-${size}${variant}`),
);

const listOf = (values: readonly string[]): string => `[${values.map((value) => `"${value}"`).join(", ")}]`;
const both = (word: string): string => `self.plan.contains("${word}") == oldSelf.plan.contains("${word}")`;
const rank = (plan: string): string =>
  `(${plan}.contains("-nano") ? 0 : ${plan}.contains("-small") ? 1 : ${plan}.contains("-medium") ? 2 : 3)`;

/** CEL rules of the claim's spec. They hold with and without a compositionRef. */
export const postgresqlRules: readonly Rule[] = [
  {
    rule: `self.service in ${listOf(postgresqlServices)}`,
    message: "Unsupported service used for postgresql",
  },
  { rule: `self.plan in ${listOf(postgresqlPlans)}`, message: "Unsupported plan used for postgresql" },
  {
    rule: '!self.plan.contains("bionic") || self.service == "a9s-postgresql13"',
    message: "Bionic plans are only supported by a9s PostgreSQL 13",
  },
  {
    rule: `${rank("self.plan")} >= ${rank("oldSelf.plan")}`,
    message: "Transition from bigger to smaller plan size is not supported.",
  },
  {
    rule: both("ssl"),
    message: "Plan migrations not possible from Non-SSL to SSL and SSL to Non-SSL",
  },
  {
    rule: both("bionic"),
    message: "Plan migrations not possible from Non-Bionic to Bionic and Bionic to Non-Bionic",
  },
  {
    rule: '!(self.plan.contains("single") && oldSelf.plan.contains("replica"))',
    message: "Migration from replicated to single Data Service Instance is not supported.",
  },
];
