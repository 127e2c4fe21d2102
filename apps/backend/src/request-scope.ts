/** Gives the answering of one HTTP request an id in all its log lines, and a trace. */
import { randomUUID } from "node:crypto";
import { activeScope, type Tracer, withRequestContext } from "@klutch/telemetry";

/** A proxy in front may choose the id, so that its lines and ours can be found together. Anything else could forge lines of others. */
const idOfProxy = /^[A-Za-z0-9-]{8,64}$/;

/** Answers a request. */
export type Answer<A extends readonly unknown[]> = (
  request: Request,
  ...rest: A
) => Response | Promise<Response>;

/** Returns the same, with an id for each request and, where traces are on, a span. What the client says of its own trace becomes a link. */
export function inRequestScope<A extends readonly unknown[]>(
  answer: Answer<A>,
  tracer: Tracer | undefined,
): Answer<A> {
  return (request, ...rest) => {
    const asked = request.headers.get("x-request-id") ?? "";
    const requestID = idOfProxy.test(asked) ? asked : randomUUID();
    const work = (): Response | Promise<Response> => answer(request, ...rest);
    return withRequestContext({ requestID }, () =>
      tracer === undefined ? work() : traced(tracer, { request, requestID }, work),
    );
  };
}

/** The path stays out of the span: those of logins hold codes. */
function traced(
  tracer: Tracer,
  { request, requestID }: { readonly request: Request; readonly requestID: string },
  work: () => Response | Promise<Response>,
): Promise<Response> {
  const { method } = request;
  const attributes = { "http.request.method": method, "klutch.request_id": requestID };
  return tracer.run({ name: `HTTP ${method}`, kind: "server", attributes }, async () => {
    activeScope()?.follow(request.headers.get("traceparent"));
    const response = await work();
    activeScope()?.set({ "http.response.status_code": response.status });
    return response;
  });
}
