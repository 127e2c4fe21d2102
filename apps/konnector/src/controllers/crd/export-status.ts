/** What the provider learns about its export in this app cluster (reference/bind.md §1.3). */
import { apiServiceExports, type ForeignExport } from "@klutch/api";
import { isInvalid } from "@klutch/kube";
import {
  type DynamicObject,
  falseCondition,
  isRecord,
  jsonEqual,
  type NewCondition,
  setConditions,
  trueCondition,
} from "@klutch/kube-core";
import type { SharedCache } from "@klutch/kube-runtime";
import type { Environment, ProviderCluster } from "../../clusters.ts";
import { conditionsOf } from "../../decode.ts";

/** What one look at an export needs. */
export interface ExportLook {
  readonly exported: ForeignExport;
  /** Undefined without a binding. */
  readonly schemaInSync: NewCondition | undefined;
  readonly isBound: boolean;
  readonly crd: DynamicObject | undefined;
  readonly provider: ProviderCluster;
  readonly exports: SharedCache;
  readonly environment: Environment;
  readonly signal: AbortSignal;
}

/** Writes the export's status when it differs. */
export async function writeExportStatus(look: ExportLook): Promise<void> {
  const { exported, provider, exports, environment, signal } = look;
  const { status, namespace, name, resourceVersion } = exported;
  const conditions = setConditions(
    status.conditions,
    [...bindingConditions(look), ...crdConditions(look.crd)],
    environment.clock.now(),
  );
  const crdStatus = isRecord(look.crd?.status) ? look.crd.status : {};
  const { acceptedNames = status.acceptedNames, storedVersions = status.storedVersions } = crdStatus;
  const next = { ...status, conditions, acceptedNames, storedVersions };
  if (jsonEqual(next, status)) return;
  const ref = { namespace, name };
  const patch = { metadata: { resourceVersion }, status: next };
  const options = { subresource: "status", signal };
  try {
    exports.wrote(await provider.client.mergePatch<DynamicObject>(apiServiceExports, ref, patch, options));
  } catch (error) {
    // Its server does not take a status for what the export says otherwise; the binding tells it all the same.
    if (exported.problem === undefined || !isInvalid(error)) throw error;
    environment.logger.debug("the status of an export in disorder was refused", { ...ref, error });
  }
}

function bindingConditions({ isBound, schemaInSync }: ExportLook): readonly NewCondition[] {
  if (!isBound) {
    const message = "no APIServiceBinding in the app cluster uses this export";
    return [
      falseCondition("Connected", "APIServiceBindingNotFound", "Info", message),
      falseCondition("ConsumerInSync", "NA", "Info", message),
    ];
  }
  const unknown = falseCondition("ConsumerInSync", "Unknown", "Info", "the schema was not compared yet");
  const inSync = schemaInSync === undefined ? unknown : { ...schemaInSync, type: "ConsumerInSync" };
  return [trueCondition("Connected"), inSync];
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
