/** Exports become CRDs of the app cluster (reference/bind.md §4.7). One reconcile for each binding of the session. */
import {
  type APIServiceBinding,
  type APIServiceExportSpec,
  checkApiFullName,
  type ForeignExport,
} from "@klutch/api";
import { ApiError, isInvalid } from "@klutch/kube";
import {
  customResourceDefinitions,
  type DynamicObject,
  falseCondition,
  isTrue,
  trueCondition,
} from "@klutch/kube-core";
import type { SharedCache } from "@klutch/kube-runtime";
import { type CrdPlan, planCrd } from "@klutch/sync";
import type { ConsumerCluster } from "../../clusters.ts";
import { conditionsOf } from "../../decode.ts";
import type { BindingStatus } from "../binding-status/binding-status.ts";
import { heldChange } from "./schema-guard.ts";
import { servedElsewhere } from "./served-elsewhere.ts";

/** What one look at a binding needs. */
export interface CrdReconcile {
  readonly key: string;
  readonly binding: APIServiceBinding;
  /** Undefined without an export. */
  readonly exported: ForeignExport | undefined;
  readonly consumer: ConsumerCluster;
  /** Holds just the CRD of this binding. */
  readonly crds: SharedCache;
  readonly status: BindingStatus;
  readonly bindingExists: (uid: string) => boolean;
  readonly signal: AbortSignal;
}

/** What came of it. */
export interface CrdOutcome {
  /** The export as far as it may be used: it is in order and stands for what was bound. */
  readonly spec?: APIServiceExportSpec | undefined;
  /** Set when the app cluster may soon answer otherwise. */
  readonly lookAgainMs?: number | undefined;
}

/** An API that was just deleted is listed by discovery for a moment. */
const discoveryLagMs = 1_000;

/** Makes or updates the CRD and reports `Connected` and `SchemaInSync`. */
export async function reconcileCrd(look: CrdReconcile): Promise<CrdOutcome> {
  const { key, binding, exported, status } = look;
  const name = binding.metadata.name ?? "";
  const refuse = (reason: string, message: string): void => {
    status.report(key, falseCondition("Connected", reason, "Error", message));
    status.report(key, falseCondition("SchemaInSync", reason, "Error", message));
  };
  const unfit = checkApiFullName(name);
  if (unfit !== undefined || exported?.problem !== undefined) {
    refuse(
      "APIServiceExportInvalid",
      `the provider's APIServiceExport ${name} cannot be used, so nothing is synced: ${unfit ?? exported?.problem}`,
    );
    return {};
  }
  const spec = exported?.spec;
  if (spec === undefined) {
    refuse("APIServiceExportNotFound", `the provider no longer offers ${name}`);
    return {};
  }
  const crd = look.crds.get(name);
  const identity = { name, uid: binding.metadata.uid ?? "" };
  const plan = planCrd({ spec, binding: identity, crd, bindingExists: look.bindingExists });
  if (plan.do === "leaveForeign") {
    refuse(
      "ForeignCustomResourceDefinition",
      `CustomResourceDefinition ${name} belongs to ${plan.owner} and was left alone; delete it to use the provider's`,
    );
    return {};
  }
  if (plan.do === "refuseIdentity") {
    refuse(
      "APIServiceExportIdentityChanged",
      `the provider's APIServiceExport ${name} is no longer the API that was bound, so nothing is synced: ${plan.change}. It goes on when the provider takes that back`,
    );
    return {};
  }
  const elsewhere =
    plan.do === "create"
      ? await servedElsewhere(
          look.consumer.client,
          { group: spec.group, plural: spec.names.plural },
          look.signal,
        )
      : undefined;
  if (elsewhere !== undefined) {
    refuse(
      "ResourceServedElsewhere",
      `this cluster serves ${spec.names.plural} of ${elsewhere} already, and not from a CustomResourceDefinition: nothing is synced`,
    );
    return { lookAgainMs: discoveryLagMs };
  }
  const held =
    plan.do === "replace"
      ? await heldChange(binding, { current: crd, wanted: plan.crd }, look.consumer.client, look.signal)
      : undefined;
  if (held !== undefined) {
    // The API works on as it is; only the new schema waits.
    status.report(key, trueCondition("Connected"));
    status.report(key, falseCondition("SchemaInSync", "BreakingSchemaChange", "Warning", held));
    return { spec };
  }
  const written = await carryOut(look, plan, refuse);
  if (written === "refused") return { spec };
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
  return { spec };
}

async function carryOut(
  { consumer, crds, signal }: CrdReconcile,
  plan: Exclude<CrdPlan, { do: "leaveForeign" | "refuseIdentity" }>,
  refuse: (reason: string, message: string) => void,
): Promise<DynamicObject | "refused" | undefined> {
  if (plan.do === "nothing") return undefined;
  const { client } = consumer;
  try {
    const answer =
      plan.do === "create"
        ? await client.create<DynamicObject>(customResourceDefinitions, plan.crd, { signal })
        : await client.replace<DynamicObject>(customResourceDefinitions, plan.crd, { signal });
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
