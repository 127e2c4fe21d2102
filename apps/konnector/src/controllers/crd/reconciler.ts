/**
 * The CRD of a bound API in the app cluster follows from the export.
 *
 * | step    | what                                                                                              |
 * |---------|---------------------------------------------------------------------------------------------------|
 * | observe | the export and the CRD from caches; live: who serves the API already, and objects that a new schema would break |
 * | decide  | `planCrd`: create, replace or leave alone; a breaking schema waits for a person                    |
 * | execute | one write                                                                                         |
 * | status  | `Connected` and `SchemaInSync` of the binding                                                      |
 */
import {
  type APIServiceBinding,
  type APIServiceExportSpec,
  checkApiFullName,
  type ForeignExport,
} from "@klutch/api";
import { ApiError, isInvalid } from "@klutch/kube";
import {
  conditionsOf,
  customResourceDefinitions,
  type DynamicObject,
  falseCondition,
  isTrue,
  type NewCondition,
  trueCondition,
} from "@klutch/kube-core";
import type { ReadYourWritesCache } from "@klutch/kube-runtime";
import { type CrdPlan, planCrd, servedVersions, syncedVersion } from "@klutch/sync";
import type { ConsumerCluster } from "../../clusters.ts";
import type { BindingStatus } from "../binding-status/binding-status.ts";
import { heldChange } from "./schema-guard.ts";
import { servedElsewhere } from "./served-elsewhere.ts";

/** Input of one reconcile. */
export interface CrdReconcile {
  /** Key of the binding. */
  readonly key: string;
  readonly binding: APIServiceBinding;
  /** Undefined without an export. */
  readonly exported: ForeignExport | undefined;
  readonly consumer: ConsumerCluster;
  /** Holds just the CRD of this binding. */
  readonly crds: ReadYourWritesCache;
  readonly status: BindingStatus;
  readonly bindingExists: (uid: string) => boolean;
  /** A schema that is held is tried again after this. */
  readonly heldSchemaMs: number;
  readonly signal: AbortSignal;
}

/** Outcome of the reconcile. */
export interface CrdOutcome {
  /** The export as far as it may be used: it is in order and stands for what was bound. */
  readonly spec?: APIServiceExportSpec | undefined;
  /** Set when the app cluster may soon answer otherwise. */
  readonly requeueAfterMs?: number | undefined;
}

type WritePlan = Exclude<CrdPlan, { do: "leaveForeign" | "refuseIdentity" | "refuseRemade" }>;

/** Permitted change of the CRD. */
type Verdict =
  | {
      readonly is: "refused";
      readonly reason: string;
      readonly message: string;
      readonly requeueAfterMs?: number;
    }
  /** The API works on as it is; only the new schema waits. */
  | { readonly is: "held"; readonly spec: APIServiceExportSpec; readonly why: string }
  | { readonly is: "accepted"; readonly spec: APIServiceExportSpec; readonly plan: WritePlan };

/** An API that was just deleted is listed by discovery for a moment. */
const discoveryLagMs = 1_000;

/** Makes or updates the CRD and reports `Connected` and `SchemaInSync`. */
export async function reconcileCrd(context: CrdReconcile): Promise<CrdOutcome> {
  const verdict = await judge(context);
  switch (verdict.is) {
    case "refused": {
      reportRefusal(context, verdict.reason, verdict.message);
      return { requeueAfterMs: verdict.requeueAfterMs };
    }
    case "held":
      context.status.report(context.key, connectedWhileHeld(context, verdict.spec));
      context.status.report(
        context.key,
        falseCondition("SchemaInSync", "BreakingSchemaChange", "Warning", verdict.why),
      );
      // No event tells when the claims have been corrected, or are gone.
      return { spec: verdict.spec, requeueAfterMs: context.heldSchemaMs };
    case "accepted": {
      const isWritten = await execute(context, verdict.plan);
      if (isWritten) reportAccepted(context);
      return { spec: verdict.spec };
    }
    default:
      return verdict satisfies never;
  }
}

/** Returns the condition `Connected` while a schema is held: nothing can be synced if the held one has the only version that the provider still serves. */
function connectedWhileHeld({ binding, crds }: CrdReconcile, spec: APIServiceExportSpec): NewCondition {
  const { name = "" } = binding.metadata;
  const crd = crds.get(name);
  if (syncedVersion(spec, crd) !== undefined) return trueCondition("Connected");
  const there = spec.versions.map((version) => version.name).join(", ");
  const here = crd === undefined ? "none" : [...servedVersions(crd)].join(", ");
  const message = `the provider serves only version ${there} of ${name}, and this cluster ${here}, so syncing is paused until the schema change reported by condition SchemaInSync is applied`;
  return falseCondition("Connected", "NoCommonVersion", "Error", message);
}

async function judge({
  binding,
  exported,
  consumer,
  crds,
  bindingExists,
  signal,
}: CrdReconcile): Promise<Verdict> {
  const { name = "", uid = "" } = binding.metadata;
  const spec = usableSpec(name, exported);
  if ("is" in spec) return spec;
  const crd = crds.get(name);
  const plan = planCrd({ spec, binding: { name, uid }, crd, bindingExists });
  switch (plan.do) {
    case "leaveForeign": {
      const message = `CustomResourceDefinition ${name} belongs to ${plan.owner} and was left alone; delete it to use the provider's`;
      return { is: "refused", reason: "ForeignCustomResourceDefinition", message };
    }
    case "refuseIdentity": {
      const message = `the provider's APIServiceExport ${name} is no longer the API that was bound, so nothing is synced: ${plan.change}. It goes on when the provider changes that back`;
      return { is: "refused", reason: "APIServiceExportIdentityChanged", message };
    }
    case "refuseRemade": {
      const message = `CustomResourceDefinition ${name} was created again in this cluster, not as the provider has it, so nothing is synced: the export says that ${plan.change}. Delete it to get the provider's; the objects of this API that the provider has come back then`;
      return { is: "refused", reason: "ForeignCustomResourceDefinition", message };
    }
    case "create": {
      const { plural } = spec.names;
      const server = await servedElsewhere(consumer.client, { group: spec.group, plural }, signal);
      if (server === undefined) return { is: "accepted", spec, plan };
      const message = `this cluster serves ${plural} of ${server} already, and not from a CustomResourceDefinition, so nothing is synced`;
      return {
        is: "refused",
        reason: "ResourceServedElsewhere",
        message,
        requeueAfterMs: discoveryLagMs,
      };
    }
    case "replace": {
      const change = { current: crd, wanted: plan.crd };
      const why = await heldChange(binding, change, consumer.client, signal);
      return why === undefined ? { is: "accepted", spec, plan } : { is: "held", spec, why };
    }
    case "nothing":
      return { is: "accepted", spec, plan };
    default:
      return plan satisfies never;
  }
}

/** The export's spec, when it is there and in order. */
function usableSpec(
  name: string,
  exported: ForeignExport | undefined,
): APIServiceExportSpec | Extract<Verdict, { is: "refused" }> {
  const problem = checkApiFullName(name) ?? exported?.problem;
  if (problem !== undefined) {
    const message = `the provider's APIServiceExport ${name} cannot be used, so nothing is synced: ${problem}`;
    return { is: "refused", reason: "APIServiceExportInvalid", message };
  }
  return (
    exported?.spec ?? {
      is: "refused",
      reason: "APIServiceExportNotFound",
      message: `the provider no longer offers ${name}`,
    }
  );
}

/** False, and reported, when the app cluster takes the CRD for invalid: trying again would not help. Throws what may pass. */
async function execute(context: CrdReconcile, plan: WritePlan): Promise<boolean> {
  if (plan.do === "nothing") return true;
  const { consumer, crds, signal } = context;
  const { client } = consumer;
  const crd = plan.crd;
  try {
    crds.wrote(
      plan.do === "create"
        ? await client.create<DynamicObject>(customResourceDefinitions, crd, { signal })
        : await client.replace<DynamicObject>(customResourceDefinitions, crd, { signal }),
    );
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const reason =
      plan.do === "create" ? "CustomResourceDefinitionCreateFailed" : "CustomResourceDefinitionUpdateFailed";
    reportRefusal(context, reason, error.message);
    if (isInvalid(error)) return false;
    throw error;
  }
}

function reportRefusal({ status, key }: CrdReconcile, reason: string, message: string): void {
  status.report(key, falseCondition("Connected", reason, "Error", message));
  status.report(key, falseCondition("SchemaInSync", reason, "Error", message));
}

function reportAccepted({ status, key, binding, crds }: CrdReconcile): void {
  const { name = "" } = binding.metadata;
  status.report(key, trueCondition("Connected"));
  status.report(
    key,
    isTrue(conditionsOf(crds.get(name)), "Established")
      ? trueCondition("SchemaInSync")
      : falseCondition(
          "SchemaInSync",
          "CustomResourceDefinitionNotEstablished",
          "Info",
          `CustomResourceDefinition ${name} is not served yet`,
        ),
  );
}
