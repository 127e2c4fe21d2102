/** All checks of this repository, those first that name the quickest way out. */
import { arrowCheck } from "./arrow-check.ts";
import type { Check } from "./check.ts";
import { driftChecks } from "./drift.ts";
import { fileChecks } from "./files.ts";
import { programChecks } from "./programs.ts";
import { roomChecks } from "./room-check.ts";

export const checks: readonly Check[] = [
  ...programChecks,
  arrowCheck,
  ...roomChecks,
  ...fileChecks,
  ...driftChecks,
];
