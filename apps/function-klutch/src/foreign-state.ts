/**
 * Reads the state of another provider's managed resource as `ManagedState`. Its reasons are its own, and some providers give none: the
 * message then names the managed resource, for the person whom a developer asks.
 */
import { plainText } from "@klutch/api";
import type { Json } from "@klutch/crossplane";
import { conditionsOf, textAt } from "@klutch/kube-core";
import { type ManagedState, managedStateOf, type ReportedCondition } from "./managed-state.ts";

/** Reasons of Crossplane's own runtime, which say no more than the claim's words do. */
const plain: readonly string[] = ["", "Creating", "Unavailable"];

/** Reads the state. `observed`: the managed resource, if it exists; `wanted`: the spec to reach. */
export function foreignStateOf(observed: Json | undefined, wanted: Json): ManagedState {
  const state = managedStateOf(observed, wanted);
  const { ready, synced, isDeleting } = state;
  if (observed === undefined || isDeleting || ready?.status === "True" || synced?.status === "False")
    return state;
  const object = `${textAt(wanted, "kind") ?? ""} ${textAt(observed, "metadata", "name") ?? ""}`.trim();
  if (ready !== undefined) return { ...state, ready: explained(ready, object, state) };
  const conditions = conditionsOf(observed);
  // A `Ready` that is about an earlier spec is followed by one about this.
  if (conditions.some(({ type }) => type === "Ready")) return state;
  const said =
    conditions.length === 0
      ? "its provider has not worked on it yet"
      : "its provider reports no condition Ready";
  return {
    ...state,
    ready: { status: "False", reason: "Creating", message: plainText(`${object}: ${said}`, 300) },
  };
}

function explained(
  { reason, message }: ReportedCondition,
  object: string,
  { wasReady }: ManagedState,
): ReportedCondition {
  const said = [...(plain.includes(reason) ? [] : [reason]), ...(message === "" ? [] : [message])].join(": ");
  return {
    status: "False",
    reason: reasonOf(reason, wasReady),
    message: plainText(
      said === "" ? `${object} is not ready yet, and its provider gives no cause` : said,
      800,
    ),
  };
}

function reasonOf(said: string, wasReady: boolean): string {
  if (/(Failed|Failure|Error)$/.test(said)) return "Failed";
  if (said === "Deleting") return said;
  return wasReady ? "Unavailable" : "Creating";
}
