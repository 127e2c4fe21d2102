/** Whether new credentials can take the place of the ones that the Secret holds. A broker may give anything. */
import type { ConnectionDetails } from "@klutch/crossplane";
import { jsonEqual } from "@klutch/kube-core";
import { brokerText } from "../../operations/broker-error.ts";

/** Undefined: they can. Names keys and never a value. */
export function credentialsProblem(
  fresh: ConnectionDetails,
  published: ConnectionDetails | undefined,
): string | undefined {
  if (Object.keys(fresh).length === 0) return "the broker gave no credentials";
  if (published === undefined) return undefined;
  const lacking = Object.keys(published).filter((key) => (fresh[key] ?? "") === "" && published[key] !== "");
  if (lacking.length > 0)
    return brokerText(`the broker gave credentials without ${lacking.toSorted().join(", ")}`);
  return jsonEqual(fresh, published) ? "the broker gave the same credentials again" : undefined;
}
