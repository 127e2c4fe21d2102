/**
 * The identity of a span as it travels: `traceparent` of W3C Trace Context, version 00. It comes from annotations that anyone may have
 * written, so it is read strictly, and here only: a text of any other form is dropped, and one of this form becomes no more than a link.
 */

/** A span of any process. */
export interface SpanIdentity {
  /** 32 hexadecimal digits. */
  readonly traceID: string;
  /** 16 hexadecimal digits. */
  readonly spanID: string;
  /** Its process records it. */
  readonly isSampled: boolean;
}

const form = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const length = 55;
const onlyZeros = /^0+$/;

/** Returns the identity; undefined for anything else than a text of exactly this form. Does not look at the content of longer ones. */
export function parseTraceparent(value: unknown): SpanIdentity | undefined {
  if (typeof value !== "string" || value.length !== length) return undefined;
  const [, traceID, spanID, flags] = form.exec(value) ?? [];
  if (traceID === undefined || spanID === undefined || flags === undefined) return undefined;
  if (onlyZeros.test(traceID) || onlyZeros.test(spanID)) return undefined;
  return { traceID, spanID, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Returns the text that `parseTraceparent` reads. */
export function formatTraceparent({ traceID, spanID, isSampled }: SpanIdentity): string {
  return `00-${traceID}-${spanID}-${isSampled ? "01" : "00"}`;
}
