/** All checks of this repository, those first that name the quickest way out. */
import { architectureCheck } from "./architecture.ts";
import { arrowCheck } from "./arrow-check.ts";
import type { Check } from "./check.ts";
import { citationChecks } from "./citations.ts";
import { driftChecks } from "./drift.ts";
import { fileChecks } from "./files.ts";
import { programChecks } from "./programs.ts";
import { referenceChecks } from "./reference.ts";
import { roomChecks } from "./room-check.ts";
import { wordingChecks } from "./wording.ts";

export const checks: readonly Check[] = [
  ...programChecks,
  arrowCheck,
  architectureCheck,
  ...roomChecks,
  ...fileChecks,
  ...driftChecks,
  ...referenceChecks,
  ...citationChecks,
  ...wordingChecks,
];
