/** Reads fields of values whose shape is unknown. */
import { type Condition, isRecord, listAt, plainText, textAt, valueAt } from "@klutch/kube-core";

/** The name of an object, where it has one. */
export interface ForeignName {
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string | undefined;
}

/** Returns name and namespace of an object; empty texts where they are missing. */
export function nameOf(object: unknown): ForeignName {
  return {
    namespace: textAt(object, "metadata", "namespace") ?? "",
    name: textAt(object, "metadata", "name") ?? "",
    resourceVersion: textAt(object, "metadata", "resourceVersion"),
  };
}

const conditionLimit = 64;
const wordLimit = 256;
const messageLimit = 4096;

/** Returns the conditions of a foreign status and leaves out malformed ones. */
export function conditionsOf(status: unknown): readonly Condition[] {
  return listAt(status, "conditions")
    .slice(0, conditionLimit)
    .flatMap((item) => {
      const type = textAt(item, "type");
      const state = textAt(item, "status");
      const lastTransitionTime = textAt(item, "lastTransitionTime");
      if (type === undefined || state === undefined || lastTransitionTime === undefined) return [];
      if ([type, state, lastTransitionTime].some((word) => plainText(word, wordLimit) !== word)) return [];
      const [severity, reason, message] = ["severity", "reason", "message"].map((name) => {
        const text = valueAt(item, name);
        if (typeof text !== "string") return undefined;
        return plainText(text, name === "message" ? messageLimit : wordLimit);
      });
      return [
        {
          type,
          status: state,
          lastTransitionTime,
          ...(severity === undefined ? {} : { severity }),
          ...(reason === undefined ? {} : { reason }),
          ...(message === undefined ? {} : { message }),
        },
      ];
    });
}

/** A Go program writes an empty list or map that it did not set as null, which means as much as nothing. */
export function withoutNulls(value: unknown, opaque: ReadonlySet<string> = new Set()): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => withoutNulls(item, opaque));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== null)
      .map(([name, field]) => [name, opaque.has(name) ? field : withoutNulls(field, opaque)]),
  );
}
