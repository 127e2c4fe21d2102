/** Offerings and plans of a9s PostgreSQL, and which changes between plans are possible. */
import type { Rule } from "@klutch/schema";
import { keeps, neverSmaller, staysReplicated } from "../src/plan-rules.ts";

/** By the name in a claim. */
export const offerings: readonly string[] = ["a9s-postgresql13", "a9s-postgresql15", "a9s-postgresql17"];

const sizes = ["single-nano", "single-small", "single-big", "replica-small", "replica-big"];
const variants = ["", "-bionic", "-ssl", "-ssl-bionic"];

/** All twenty plans. */
export const plans: readonly string[] = sizes.flatMap((size) =>
  variants.map((variant) => `postgresql-${size}${variant}`),
);

/** They hold with and without a compositionRef. */
export const planRules: readonly Rule[] = [
  {
    rule: '!self.plan.contains("bionic") || self.service == "a9s-postgresql13"',
    message: "Bionic plans are only supported by a9s PostgreSQL 13",
  },
  neverSmaller,
  keeps("ssl", "SSL"),
  keeps("bionic", "Bionic"),
  staysReplicated("replica"),
];
