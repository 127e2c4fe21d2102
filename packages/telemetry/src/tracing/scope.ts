/**
 * The work that runs now, for those parts that add to its trace: requests to API servers and brokers, and log lines. Nothing of this runs, or
 * is allocated, while no tracer is on.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { SpanIdentity } from "./traceparent.ts";

/** Values that describe a span. Never a secret, and no body of a request. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** Describes a span before it begins. */
export interface SpanOptions {
  /** One of few texts; what differs goes into the attributes. */
  readonly name: string;
  readonly attributes?: SpanAttributes | undefined;
  /** `client` for a request to another process. Default `internal`. */
  readonly kind?: "internal" | "client" | "server" | undefined;
}

/** One span that is open, or one that begins with the first thing that needs it. */
export interface Scope {
  /**
   * Names the span that caused this work, as an annotation of its object says it. It becomes a link of this span. Anything else than a
   * valid `traceparent` is dropped, so it may come from a stranger.
   */
  follow(traceparent: unknown): void;
  /** Returns the open span, which begins now if it has not. Undefined if it is not recorded: then nothing of it may travel. */
  begin(): SpanIdentity | undefined;
  /** Returns the span if it has begun and is recorded. */
  identity(): SpanIdentity | undefined;
  set(attributes: SpanAttributes): void;
  /** Runs `work` in a child of this span. A thrown error marks the child as failed, by its code alone. */
  child<T>(options: SpanOptions, work: (scope: Scope) => Promise<T>): Promise<T>;
}

/** Makes spans. Where there is none, tracing is off. */
export interface Tracer extends AsyncDisposable {
  /**
   * Runs `work` in a span of a new trace. The span begins with the first child, write or `begin`; work without any of them leaves no span.
   */
  run<T>(options: SpanOptions, work: () => Promise<T>): Promise<T>;
}

const scopes = new AsyncLocalStorage<Scope>();

/** Returns the scope of the work that calls; undefined while tracing is off, and outside of a tracer's work. */
export function activeScope(): Scope | undefined {
  return scopes.getStore();
}

/** Runs `work` in this scope. For tracers. */
export function runInScope<T>(scope: Scope, work: () => T): T {
  return scopes.run(scope, work);
}

/** Runs `work` in a child span where a tracer is on, and else as it is. */
export function inSpan<T>(options: SpanOptions, work: (scope: Scope | undefined) => Promise<T>): Promise<T> {
  const scope = scopes.getStore();
  return scope === undefined ? work(undefined) : scope.child(options, work);
}
