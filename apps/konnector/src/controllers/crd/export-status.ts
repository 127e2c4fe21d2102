/** Status that the provider gets about its export in this app cluster. */
import { apiServiceExports, type ForeignExport } from "@klutch/api";
import { isInvalid, type KubeClient } from "@klutch/kube";
import {
  conditionsOf,
  type DynamicObject,
  falseCondition,
  jsonEqual,
  type NewCondition,
  recordAt,
  setConditions,
  trueCondition,
} from "@klutch/kube-core";
import type { ReadYourWritesCache } from "@klutch/kube-runtime";
import type { RuntimeDependencies } from "../../clusters.ts";

/** Facts that the export's status is made of. */
export interface ExportInUse {
  readonly exported: ForeignExport;
  readonly isBound: boolean;
  /** Condition of the binding; undefined when the binding does not have it yet. */
  readonly schemaInSync: NewCondition | undefined;
  /** CRD of the app cluster, when the binding owns it. */
  readonly crd: DynamicObject | undefined;
}

/** Writes the export's status on the provider when it differs. */
export async function writeExportStatus(
  inUse: ExportInUse,
  provider: KubeClient,
  exports: ReadYourWritesCache,
  { clock, logger }: Pick<RuntimeDependencies, "clock" | "logger">,
  signal: AbortSignal,
): Promise<void> {
  const { exported, crd } = inUse;
  const { status, namespace, name, resourceVersion } = exported;
  const conditions = setConditions(
    status.conditions,
    [...bindingConditions(inUse), ...crdConditions(crd)],
    clock.now(),
  );
  const { acceptedNames = status.acceptedNames, storedVersions = status.storedVersions } = recordAt(
    crd?.status,
  );
  const next = { ...status, conditions, acceptedNames, storedVersions };
  if (jsonEqual(next, status)) return;
  const ref = { namespace, name };
  const patch = { metadata: { resourceVersion }, status: next };
  const options = { subresource: "status", signal };
  try {
    exports.wrote(await provider.mergePatch<DynamicObject>(apiServiceExports, ref, patch, options));
  } catch (error) {
    // Its server does not take a status for what the export says otherwise; the binding says it all the same.
    if (exported.problem === undefined || !isInvalid(error)) throw error;
    logger.debug("the status of an export in disorder was refused", { ...ref, error });
  }
}

function bindingConditions({ isBound, schemaInSync }: ExportInUse): readonly NewCondition[] {
  if (!isBound) {
    const message = "no APIServiceBinding in the app cluster uses this export";
    return [
      falseCondition("Connected", "APIServiceBindingNotFound", "Info", message),
      falseCondition("ConsumerInSync", "NA", "Info", message),
    ];
  }
  const unknown = falseCondition("ConsumerInSync", "Unknown", "Info", "the schema was not compared yet");
  const inSync = schemaInSync === undefined ? unknown : { ...schemaInSync, type: "ConsumerInSync" };
  return [trueCondition("Connected"), isAnswer(inSync) ? { ...inSync, message: notTaken } : inSync];
}

const notTaken =
  "the API server of the app cluster did not take the CustomResourceDefinition; condition SchemaInSync of the APIServiceBinding there says why";

/** Returns true if the message quotes the app cluster's API server or an admission webhook of it. Such texts stay in the app cluster. */
function isAnswer({ reason = "" }: NewCondition): boolean {
  return /^CustomResourceDefinition(Create|Update)Failed$/.test(reason);
}

/** The CRD's own conditions, with a severity where they are not True. */
function crdConditions(crd: DynamicObject | undefined): readonly NewCondition[] {
  return conditionsOf(crd)
    .filter(({ type }) => type !== "Ready")
    .map(({ type, status, reason, message }) =>
      status === "True"
        ? { type, status, reason, message }
        : { type, status, severity: "Error", reason, message },
    );
}
