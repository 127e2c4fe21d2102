/** Adds to every line the request that is being answered, and the span that is open. */
import { AsyncLocalStorage } from "node:async_hooks";
import { activeScope } from "./tracing/scope.ts";

/** Identifies an HTTP request in all lines that it leads to. */
export interface RequestContext {
  readonly requestID: string;
}

const requests = new AsyncLocalStorage<RequestContext>();

/** Runs `work` so that each of its lines has the context. */
export function withRequestContext<T>(context: RequestContext, work: () => T): T {
  return requests.run(context, work);
}

/** Returns the fields of a line that is written now. */
export function contextOfLine(): Record<string, string> {
  const fields: Record<string, string> = {};
  const request = requests.getStore();
  if (request !== undefined) fields["requestID"] = request.requestID;
  const span = activeScope()?.identity();
  if (span !== undefined) {
    fields["traceID"] = span.traceID;
    fields["spanID"] = span.spanID;
  }
  return fields;
}
