/** The `Ready` of a kind whose operator says the same by a condition of another type, as the controllers of AWS do. */
import { type AnyCondition, conditionOf } from "./status-conditions.ts";
import { shortened, type StatusView, takenFields } from "./status-view.ts";

/**
 * The conditions with a `Ready` that has the status, the time and the generation of the one that stands for it. While that is not True, its message also
 * has those of other conditions that are True: the operator's causes. The same conditions if nothing stands for `Ready`, or the operator writes one.
 */
export function withReady(conditions: readonly AnyCondition[], view: StatusView): readonly AnyCondition[] {
  const { readyCondition: type, conditions: fields = [] } = view;
  if (type === undefined || !view.mayBeUnknown || conditionOf(conditions, "Ready") !== undefined)
    return conditions;
  const source = conditionOf(conditions, type);
  if (source === undefined || !/^(?:True|False|Unknown)$/.test(source.status)) return conditions;
  const { lastTransitionTime, observedGeneration } = source;
  const said = {
    lastTransitionTime,
    observedGeneration,
    reason: type.replace(/^.*[.-]/, ""),
    message: shortened(messageOf(conditions, source)),
  };
  return [...conditions, { type: "Ready", status: source.status, ...takenFields(fields, said) }];
}

function messageOf(conditions: readonly AnyCondition[], source: AnyCondition): string {
  const causes = conditions
    .filter(({ status }) => source.status !== "True" && status === "True")
    .map(({ type, ...rest }) => ({ type, message: textOf(rest) }))
    .filter(({ message }) => message !== "")
    .map(({ type, message }) => `${type}: ${message}`);
  return [textOf(source), ...causes].filter((text) => text !== "").join("; ");
}

function textOf({ message }: Readonly<Record<string, unknown>>): string {
  return typeof message === "string" ? message : "";
}
