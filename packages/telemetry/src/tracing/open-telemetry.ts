/**
 * The tracer on OpenTelemetry's SDK. Only `startTracing` loads this file, and only where an endpoint is set: the packages below take 0.2 s and
 * some megabytes.
 */
import {
  type Attributes,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
  ROOT_CONTEXT,
} from "@opentelemetry/api";
import type { Context, Link, SpanContext, Tracer as SdkTracer } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { Counter, Metrics } from "../metrics.ts";
import type { Logger } from "../logger.ts";
import * as declarations from "../catalogue/traces.ts";
import type { TracingConfig } from "./config.ts";
import { createDecision } from "./sampler.ts";
import { runInScope, type Scope, type SpanAttributes, type SpanOptions, type Tracer } from "./scope.ts";
import { parseTraceparent, type SpanIdentity } from "./traceparent.ts";

/** Parts of a tracer. */
export interface TracerParts {
  readonly config: TracingConfig;
  readonly version: string;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Wall clock and monotonic milliseconds. */
  readonly clock: { now(): number; monotonic(): number };
  readonly random: () => number;
}

/** Links of one span at most: a reconcile looks at few objects, and a stranger may write annotations on them. */
const mostLinks = 8;
/** Longest value of an attribute in characters. */
const longestAttribute = 256;
/** Longest wait for the last spans when the process ends. */
const lastSpansMs = 3000;

/** Creates the tracer. Disposing it sends the last spans, for three seconds at most. */
export function createOpenTelemetryTracer(parts: TracerParts): Tracer {
  const { config, version, clock, random } = parts;
  const exporter = new WatchedExporter(
    new OTLPTraceExporter({ url: config.url, timeoutMillis: config.timeoutMs }),
    parts,
  );
  const processor = new BatchSpanProcessor({
    exporter,
    // Never reached: `BoundedProcessor` drops before.
    maxQueueSize: config.maxQueueSize,
    maxExportBatchSize: config.maxBatchSize,
    scheduledDelayMillis: config.delayMs,
    exportTimeoutMillis: config.timeoutMs * 2,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      "service.version": version,
      ...config.resourceAttributes,
      "service.name": config.serviceName,
    }),
    // Only spans that are to be recorded are made at all.
    sampler: new AlwaysOnSampler(),
    spanLimits: { linkCountLimit: mostLinks, attributeValueLengthLimit: longestAttribute },
    spanProcessors: [new BoundedProcessor(processor, exporter, config.maxQueueSize, parts.metrics)],
  });
  const root: RootParts = {
    tracer: provider.getTracer("klutch", version),
    decide: createDecision({ choice: config.sampler, nowMs: () => clock.monotonic(), random }),
    now: () => clock.now(),
  };
  return {
    async run(options, work) {
      const scope = new LazyScope(root, options);
      try {
        return await runInScope(scope, work);
      } catch (error) {
        scope.failed(error);
        throw error;
      } finally {
        scope.end();
      }
    },
    async [Symbol.asyncDispose]() {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, lastSpansMs)));
      await Promise.race([provider.shutdown().catch(() => undefined), late]);
      clearTimeout(timer);
    },
  };
}

interface RootParts {
  readonly tracer: SdkTracer;
  readonly decide: (causes: readonly SpanIdentity[]) => boolean;
  readonly now: () => number;
}

/** A root span that begins when something needs it. Its decision is taken again when a recorded cause is named later: nothing of it has gone out. */
class LazyScope implements Scope {
  readonly #parts: RootParts;
  readonly #options: SpanOptions;
  readonly #startedAt: number;
  readonly #causes: SpanIdentity[] = [];
  #own: OpenScope | undefined;
  #isDecided = false;
  #hasEnded = false;
  #attributes: SpanAttributes = {};

  constructor(parts: RootParts, options: SpanOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#startedAt = parts.now();
  }

  follow(traceparent: unknown): void {
    const cause = parseTraceparent(traceparent);
    if (cause === undefined || this.#causes.length >= mostLinks) return;
    if (this.#causes.some(({ spanID }) => spanID === cause.spanID)) return;
    this.#causes.push(cause);
    if (this.#own !== undefined) this.#own.link(cause);
    else if (cause.isSampled) this.#isDecided = false;
  }

  begin(): SpanIdentity | undefined {
    return this.#open()?.begin();
  }

  identity(): SpanIdentity | undefined {
    return this.#hasEnded ? undefined : this.#own?.identity();
  }

  set(attributes: SpanAttributes): void {
    this.#attributes = { ...this.#attributes, ...attributes };
    this.#own?.set(attributes);
  }

  child<T>(options: SpanOptions, work: (scope: Scope) => Promise<T>): Promise<T> {
    return this.#open()?.child(options, work) ?? work(this);
  }

  failed(error: unknown): void {
    this.#own?.failed(error);
  }

  /** From now on work that was begun inside and goes on adds nothing. */
  end(): void {
    this.#hasEnded = true;
    this.#own?.end();
  }

  #open(): OpenScope | undefined {
    if (this.#hasEnded) return undefined;
    if (this.#own !== undefined || this.#isDecided) return this.#own;
    this.#isDecided = true;
    if (!this.#parts.decide(this.#causes)) return undefined;
    const { tracer } = this.#parts;
    const span = tracer.startSpan(
      this.#options.name,
      {
        ...spanOptionsOf(this.#options),
        startTime: this.#startedAt,
        links: this.#causes.map(linkTo),
        root: true,
      },
      ROOT_CONTEXT,
    );
    span.setAttributes(this.#attributes as Attributes);
    this.#own = new OpenScope(tracer, span);
    return this.#own;
  }
}

/** A span that is recorded. */
class OpenScope implements Scope {
  readonly #tracer: SdkTracer;
  readonly #span: Span;
  readonly #identity: SpanIdentity;
  #hasEnded = false;

  constructor(tracer: SdkTracer, span: Span) {
    this.#tracer = tracer;
    this.#span = span;
    const { traceId: traceID, spanId: spanID } = span.spanContext();
    this.#identity = { traceID, spanID, isSampled: true };
  }

  follow(traceparent: unknown): void {
    const cause = parseTraceparent(traceparent);
    if (cause !== undefined) this.link(cause);
  }

  link(cause: SpanIdentity): void {
    this.#span.addLink(linkTo(cause));
  }

  begin(): SpanIdentity | undefined {
    return this.identity();
  }

  identity(): SpanIdentity | undefined {
    return this.#hasEnded ? undefined : this.#identity;
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes({ ...attributes });
  }

  async child<T>(options: SpanOptions, work: (scope: Scope) => Promise<T>): Promise<T> {
    if (this.#hasEnded) return work(this);
    const span = this.#tracer.startSpan(options.name, spanOptionsOf(options), contextOf(this.#span));
    const scope = new OpenScope(this.#tracer, span);
    try {
      return await runInScope(scope, () => work(scope));
    } catch (error) {
      scope.failed(error);
      throw error;
    } finally {
      scope.end();
    }
  }

  /** Only the code: messages may repeat a stranger's words, and spans go to a third party. */
  failed(error: unknown): void {
    this.#span.setStatus({ code: SpanStatusCode.ERROR });
    this.#span.setAttribute("error.type", errorTypeOf(error));
  }

  end(): void {
    this.#hasEnded = true;
    this.#span.end();
  }
}

function contextOf(span: Span): Context {
  return trace.setSpan(ROOT_CONTEXT, span);
}

const kinds = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT, server: SpanKind.SERVER } as const;

function spanOptionsOf({ attributes, kind = "internal" }: SpanOptions): {
  readonly kind: SpanKind;
  readonly attributes: Attributes;
} {
  return { kind: kinds[kind], attributes: { ...attributes } };
}

function linkTo({ traceID, spanID, isSampled }: SpanIdentity): Link {
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  const context: SpanContext = { traceId: traceID, spanId: spanID, traceFlags, isRemote: true };
  return { context };
}

function errorTypeOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  const code: unknown = "code" in error ? error.code : undefined;
  return typeof code === "string" && /^\w{1,40}$/.test(code) ? code : error.name.slice(0, 40);
}

/** Counts what goes out, and says once that it does not, and once that it does again. */
class WatchedExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #logger: Logger;
  readonly #endpoint: string;
  readonly #sent: Counter;
  readonly #lost: Counter;
  #isFailing = false;
  /** Spans that are being sent. */
  sending = 0;
  #onTaken: (count: number) => void = () => {};

  constructor(exporter: SpanExporter, { logger, metrics, config }: TracerParts) {
    this.#exporter = exporter;
    this.#logger = logger;
    this.#endpoint = config.shownUrl;
    this.#sent = metrics.counter(declarations.spansSent).labels({});
    this.#lost = metrics.counter(declarations.spansDropped).labels({ reason: "not_sent" });
  }

  /** Called with the number of spans that left the queue. */
  onTaken(listener: (count: number) => void): void {
    this.#onTaken = listener;
  }

  export(spans: ReadableSpan[], done: Parameters<SpanExporter["export"]>[1]): void {
    this.#exporter.export(spans, (result) => {
      this.#onTaken(spans.length);
      const failed = result.error !== undefined;
      if (failed) this.#lost.inc(spans.length);
      else this.#sent.inc(spans.length);
      if (failed !== this.#isFailing) this.#tell(failed, result.error);
      this.#isFailing = failed;
      // A failure is told by the log and the metric; the SDK would send it to a global handler.
      done({ code: 0 });
    });
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }

  /** Without the error's message: it may repeat the receiver's words. */
  #tell(failed: boolean, error: unknown): void {
    const endpoint = this.#endpoint;
    if (failed) this.#logger.warn("traces cannot be sent", { endpoint, errorType: errorTypeOf(error) });
    else this.#logger.info("traces are sent again", { endpoint });
  }
}

/** Bounds the spans that wait and those that are being sent, together; counts those beyond. Never waits. */
class BoundedProcessor implements SpanProcessor {
  readonly #next: SpanProcessor;
  readonly #most: number;
  readonly #dropped: Counter;
  #held = 0;

  constructor(next: SpanProcessor, exporter: WatchedExporter, most: number, metrics: Metrics) {
    this.#next = next;
    this.#most = most;
    this.#dropped = metrics.counter(declarations.spansDropped).labels({ reason: "queue_full" });
    exporter.onTaken((count) => (this.#held -= count));
  }

  onStart(...args: Parameters<SpanProcessor["onStart"]>): void {
    this.#next.onStart(...args);
  }

  onEnd(span: ReadableSpan): void {
    if (this.#held >= this.#most) return this.#dropped.inc();
    this.#held += 1;
    this.#next.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.#next.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#next.shutdown();
  }
}
