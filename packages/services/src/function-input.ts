/** Input of `function-klutch` in a Composition: which kind of composite it is to compose. */
import { fnGroup } from "@klutch/api";

/** What the input calls bindings. Instances are called by `functionResource`. */
export const bindingResource = "service-binding";
/** What it calls backups. */
export const backupResource = "backup";
/** What it calls restores. */
export const restoreResource = "restore";

/** `pipeline[].input` of a Composition. */
export interface FunctionInput {
  readonly apiVersion: "fn.klutch.anynines.com/v1alpha1";
  readonly kind: "Input";
  readonly resource: string;
  /** CF organisation that instances are made in, where the broker wants one. */
  readonly organizationGuid?: string | undefined;
  /** CF space that instances are made in. */
  readonly spaceGuid?: string | undefined;
}

/** The input for a resource. */
export function functionInput(resource: string): FunctionInput {
  return { apiVersion: `${fnGroup}/v1alpha1`, kind: "Input", resource };
}
