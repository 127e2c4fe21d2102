/** The limit of a bound API in an app cluster, in the words that developers read (designs/0025-limits-in-the-app-cluster.md). */
import type { ObjectLimit } from "./kinds/common.ts";

/** Number of objects of one API that an app cluster may have and has, and the person to ask for more. */
export type ApiLimit = ObjectLimit & { readonly contact?: string | undefined };

/** Returns true if the app cluster may have no more of it. */
export function isLimitReached({ max, used }: ObjectLimit): boolean {
  return used >= max;
}

/** Returns the sentence without a full stop. The admission policy of the app cluster says the same in CEL (admission/api-limit.ts). */
export function limitWords({ max, used, contact }: ApiLimit, plural: string): string {
  return `this cluster may have ${max} ${plural}, has ${used}${contact === undefined ? "" : `; ask ${contact}`}`;
}
