/** A receiver of traces as a plain HTTP server, for tests: OTLP as JSON on `/v1/traces`. */
import { createServer } from "node:http";
import { text } from "node:stream/consumers";

/** One span as it came. */
export interface ReceivedSpan {
  readonly service: string;
  readonly name: string;
  readonly traceID: string;
  readonly spanID: string;
  readonly parentID: string | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceID: string; readonly spanID: string }[];
  readonly isFailed: boolean;
}

/** A receiver that runs. */
export interface TraceReceiver extends AsyncDisposable {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** Headers and bodies as they came. */
  readonly requests: readonly { readonly authorization: string | undefined; readonly body: string }[];
}

/** Starts it on a free port. `answer` gives the status, maybe late. Default 200. */
export async function receiveTraces(
  answer: () => number | Promise<number> = () => 200,
): Promise<TraceReceiver> {
  const spans: ReceivedSpan[] = [];
  const requests: { authorization: string | undefined; body: string }[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const body = await text(request);
      requests.push({ authorization: request.headers.authorization, body });
      const status = request.url === "/v1/traces" ? await answer() : 404;
      if (status === 200) spans.push(...spansOf(JSON.parse(body)));
      response.writeHead(status, { "content-type": "application/json" }).end("{}");
    })();
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((done) => server.close(() => done()));
    },
  };
}

function spansOf(body: unknown): readonly ReceivedSpan[] {
  return list(body, "resourceSpans").flatMap((resource) => {
    const service = String(attributesOf(record(resource)["resource"])["service.name"]);
    return list(resource, "scopeSpans")
      .flatMap((scope) => list(scope, "spans"))
      .map((span) => {
        const { name, traceId, spanId, parentSpanId, status } = record(span);
        return {
          service,
          name: String(name),
          traceID: String(traceId),
          spanID: String(spanId),
          parentID: typeof parentSpanId === "string" && parentSpanId !== "" ? parentSpanId : undefined,
          attributes: attributesOf(span),
          links: list(span, "links").map((link) => ({
            traceID: String(record(link)["traceId"]),
            spanID: String(record(link)["spanId"]),
          })),
          isFailed: record(status)["code"] === 2,
        };
      });
  });
}

function attributesOf(holder: unknown): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    list(holder, "attributes").map((one) => {
      const { key, value } = record(one);
      return [String(key), Object.values(record(value))[0]] as const;
    }),
  );
}

function list(holder: unknown, name: string): readonly unknown[] {
  const found = record(holder)[name];
  return Array.isArray(found) ? found : [];
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? Object.fromEntries(Object.entries(value)) : {};
}
