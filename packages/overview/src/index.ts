export * from "./console-wire.ts";
export { durationText, explain, people, remedyOf } from "./explain/explain.ts";
export {
  type Explanation,
  type Remedy,
  type State,
  type Station,
  stations,
  type Step,
  titles,
  type Who,
} from "./explain/explanation.ts";
export type { Above, Composed, Looked, Observed, Side, Warning } from "./explain/observed.ts";
export { type Blamed, meaningOf, type Meaning, type Named } from "./explain/reasons.ts";
export { choosesComposition, type ObjectView, secretNameOf, timeOf, viewOf } from "./explain/view.ts";
export {
  budgetCondition,
  clusterAdvice,
  clusterProblems,
  offerAdvice,
  problemsOf,
  problemText,
  updateFault,
} from "./problems.ts";
export {
  claimFacts,
  type ClaimFacts,
  clusterRow,
  type ClusterFacts,
  grantRow,
  instanceRow,
  memberRowId,
  memberRows,
  offerRow,
} from "./console-rows.ts";
export {
  budgetProblem,
  clusterProblem,
  instanceProblem,
  backupSizeProblem,
  ledgerProblem,
  offerProblem,
  problemOrder,
  rolloutProblem,
} from "./console-problems.ts";
export { type BackupClaim, type GoodBackup, goodBackup, lastBackups } from "./console-backups.ts";
export {
  auditComponent,
  auditEvent,
  type AuditEvent,
  auditSelector,
  eventRow,
  grantedRow,
  grantPrefix,
  trustedEvents,
} from "./console-audit.ts";
