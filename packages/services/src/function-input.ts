/** Input of `function-klutch` in a Composition: which kind of composite it is to compose. */
import { fnGroup } from "@klutch/api";

/** Name of bindings in the input. `functionResource` names instances. */
export const bindingResource = "service-binding";
/** Name of backups. */
export const backupResource = "backup";
/** Name of restores. */
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
