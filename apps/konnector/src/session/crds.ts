/** Exports become CRDs of the app cluster (reference/bind.md §4.7). One reconcile for each binding of the session. */
import {
  type APIServiceBinding,
  type APIServiceExportSpec,
  customResourceDefinitions,
  falseCondition,
  isTrue,
  trueCondition,
} from "@klutch/api";
import { ApiError, type DynamicObject, isInvalid } from "@klutch/kube";
import { type CrdPlan, planCrd } from "@klutch/sync";
import { heldChange } from "./schema-guard.ts";
import type { BindingStatus } from "../binding-status.ts";
import type { SharedCache } from "../cache/shared-cache.ts";
import type { ConsumerCluster } from "../clusters.ts";
import { asDynamic, conditionsOf } from "../decode.ts";

/** What one look at a binding needs. */
export interface CrdReconcile {
  readonly key: string;
  readonly binding: APIServiceBinding;
  readonly spec: APIServiceExportSpec | undefined;
  readonly consumer: ConsumerCluster;
  /** Holds just the CRD of this binding. */
  readonly crds: SharedCache;
  readonly status: BindingStatus;
  readonly bindingExists: (uid: string) => boolean;
  readonly signal: AbortSignal;
}

/** Makes or updates the CRD and reports `Connected` and `SchemaInSync`. */
export async function reconcileCrd(look: CrdReconcile): Promise<void> {
  const { key, binding, spec, status } = look;
  const name = binding.metadata.name ?? "";
  const refuse = (reason: string, message: string): void => {
    status.report(key, falseCondition("Connected", reason, "Error", message));
    status.report(key, falseCondition("SchemaInSync", reason, "Error", message));
  };
  if (spec === undefined) {
    refuse("APIServiceExportNotFound", `the provider no longer offers ${name}`);
    return;
  }
  const crd = look.crds.get(name);
  const identity = { name, uid: binding.metadata.uid ?? "" };
  const plan = planCrd({ spec, binding: identity, crd, bindingExists: look.bindingExists });
  if (plan.do === "leaveForeign") {
    refuse(
      "ForeignCustomResourceDefinition",
      `CustomResourceDefinition ${name} belongs to ${plan.owner} and was left alone; delete it to use the provider's`,
    );
    return;
  }
  const held = plan.do === "replace" ? await heldChange(look, plan.crd, crd) : undefined;
  if (held !== undefined) {
    // The API works on as it is; only the new schema waits.
    status.report(key, trueCondition("Connected"));
    status.report(key, falseCondition("SchemaInSync", "BreakingSchemaChange", "Warning", held));
    return;
  }
  const written = await carryOut(look, plan, refuse);
  if (written === "refused") return;
  status.report(key, trueCondition("Connected"));
  const established = isTrue(conditionsOf(written ?? crd), "Established");
  status.report(
    key,
    established
      ? trueCondition("SchemaInSync")
      : falseCondition(
          "SchemaInSync",
          "CustomResourceDefinitionNotEstablished",
          "Info",
          `CustomResourceDefinition ${name} is not served yet`,
        ),
  );
}

async function carryOut(
  { consumer, crds, signal }: CrdReconcile,
  plan: Exclude<CrdPlan, { do: "leaveForeign" }>,
  refuse: (reason: string, message: string) => void,
): Promise<DynamicObject | "refused" | undefined> {
  if (plan.do === "nothing") return undefined;
  const { client } = consumer;
  try {
    const answer =
      plan.do === "create"
        ? await client.create<DynamicObject>(customResourceDefinitions, asDynamic(plan.crd), { signal })
        : await client.replace<DynamicObject>(customResourceDefinitions, asDynamic(plan.crd), { signal });
    crds.wrote(answer);
    return answer;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const reason =
      plan.do === "create" ? "CustomResourceDefinitionCreateFailed" : "CustomResourceDefinitionUpdateFailed";
    refuse(reason, error.message);
    // The schema will not get better by trying again; a new export or an edit of the CRD starts another look.
    if (isInvalid(error)) return "refused";
    throw error;
  }
}
