/** Joins the rules of checks.md with the code that holds them. */
import { rowsIn } from "../generate/page.ts";
import { arrowChecks } from "./arrows.ts";
import type { Check, Finders } from "./check.ts";
import { driftChecks } from "./drift.ts";
import { programChecks } from "./programs.ts";
import { referenceChecks } from "./reference.ts";
import { textChecks } from "./texts.ts";
import { wordingChecks } from "./wording.ts";

/** The code of all rules. */
export const finders: Finders = {
  ...programChecks,
  ...arrowChecks,
  ...textChecks,
  ...driftChecks,
  ...referenceChecks,
  ...wordingChecks,
};

const rows = rowsIn("tools/checks/checks.md");

/** All checks of this repository, those first that name the quickest way out. */
export const checks: readonly Check[] = rows.flatMap(([name = "", rule = "", advice = ""]) => {
  const find = finders[name];
  return find === undefined ? [] : [{ name, rule, advice, find }];
});
