/** Lists all checks of this repository, those first that name the quickest way out. */
import { architectureCheck } from "./architecture.ts";
import { arrowCheck, roomCheck } from "./arrows.ts";
import type { Check } from "./check.ts";
import { driftChecks } from "./drift.ts";
import { programChecks } from "./programs.ts";
import { referenceChecks } from "./reference.ts";
import { textChecks } from "./texts.ts";
import { wordingCheck } from "./wording.ts";

export const checks: readonly Check[] = [
  ...programChecks,
  arrowCheck,
  architectureCheck,
  roomCheck,
  ...textChecks,
  ...driftChecks,
  ...referenceChecks,
  wordingCheck,
];
