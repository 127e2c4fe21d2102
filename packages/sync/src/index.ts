/** The sync engine's decisions: pure functions from what both clusters show to what is to be written. No I/O. */
export * from "./adoption.ts";
export * from "./compiled-permission-claim.ts";
export * from "./claimed.ts";
export * from "./cluster-scoped.ts";
export * from "./content.ts";
export * from "./crd-plan.ts";
export * from "./digest.ts";
export { legacyManager, reduceManagedFields } from "./fields.ts";
export * from "./invariants.ts";
export * from "./invariants-snapshot.ts";
export * from "./mapping-rules.ts";
export * from "./metadata-rules.ts";
export * from "./namespaces.ts";
export * from "./object-plan.ts";
export * from "./orphans.ts";
export * from "./secret-types.ts";
export * from "./unbind.ts";
export { type AffectedObject, breakingVersionChanges, isUndecidable, SchemaTrial } from "./schema-rollout.ts";
