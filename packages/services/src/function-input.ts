/** Input of `function-klutch` in a Composition: which kind of composite it is to compose. */
import { fnGroup, klutchVersion } from "@klutch/api";
import { plainText, recordAt } from "@klutch/kube-core";

/** Name of bindings in the input. `functionResource` names instances. */
export const bindingResource = "service-binding";
/** Name of backups. */
export const backupResource = "backup";
/** Name of restores. */
export const restoreResource = "restore";

/**
 * Revision of the input that this release writes and reads. It goes up when a function of an earlier release would read an input otherwise than it is
 * meant, and Compositions with such a content name it.
 */
export const inputRevision = 1;

/** Returns why an input cannot be read: its Composition is of a newer release. Undefined: it can. */
export function revisionProblem(input: unknown): string | undefined {
  const revision = recordAt(input)["revision"];
  if (revision === undefined) return undefined;
  if (typeof revision !== "number" || !Number.isSafeInteger(revision) || revision < 1)
    return `input.revision is ${plainText(JSON.stringify(revision) ?? "", 100)}; it must be a whole number from 1`;
  if (revision <= inputRevision) return undefined;
  return (
    `input.revision is ${revision}, and this function-klutch ${klutchVersion} reads up to ${inputRevision}: the Composition is of a newer ` +
    "release. Nothing is changed; install the function of that release, or go back to the Configuration of this one"
  );
}

/** `pipeline[].input` of a Composition. */
export interface FunctionInput {
  readonly apiVersion: "fn.klutch.anynines.com/v1alpha1";
  readonly kind: "Input";
  readonly resource: string;
  /** Default 1. */
  readonly revision?: number | undefined;
  /** CF organisation that instances are made in, where the broker wants one. */
  readonly organizationGuid?: string | undefined;
  /** CF space that instances are made in. */
  readonly spaceGuid?: string | undefined;
}

/** The input for a resource. */
export function functionInput(resource: string): FunctionInput {
  return { apiVersion: `${fnGroup}/v1alpha1`, kind: "Input", resource };
}
