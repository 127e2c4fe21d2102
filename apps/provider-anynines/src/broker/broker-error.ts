/** What a broker's errors and texts become in conditions, annotations and events: its words, one reason, and never a login. */
import { plainText } from "@klutch/api";
import { ExternalError } from "@klutch/crossplane";
import { isConcurrency, isRefusal, OsbError, OsbTransportError, type OsbTransportCode } from "@klutch/osb";

/** When to try again after the broker said that it is busy and not for how long. */
const busyMs = 2_000;
/** Of a broker's text; what is said around it has room in a condition besides. */
const textLimit = 700;

/** A user and password in a URL, and the value of a header that logs in. */
const logins = /(?<=:\/\/)[^\s/@]+(?=@)|(?<=\bauthorization\W{1,4}(?:basic|bearer) )[^\s"']+/gi;

/** A broker's text on one line, bounded, without logins: what echoes a request may repeat ours. */
export function brokerText(text: string): string {
  return plainText(plainText(text, textLimit).replaceAll(logins, "…"), textLimit);
}

/** `question`: nothing was to be changed, so an answer of no is not about the spec. */
export type Asked = "question" | "change";

/** The broker's own words for the condition. Other errors are given back as they are. */
export function toExternalError(error: unknown, asked: Asked): unknown {
  if (error instanceof OsbError) {
    const { retryAfterMs = isConcurrency(error) ? busyMs : undefined } = error;
    return new ExternalError(brokerText(error.message), {
      cause: error,
      retryAfterMs,
      reason: reasonOf(error, asked),
    });
  }
  if (error instanceof OsbTransportError) {
    const reason = withoutAnswer.has(error.code) ? "BrokerUnreachable" : undefined;
    return new ExternalError(brokerText(error.message), { cause: error, reason });
  }
  return error;
}

const withoutAnswer: ReadonlySet<OsbTransportCode> = new Set(["Unreachable", "Timeout", "Broken", "Tls"]);
/** By what stands before a broker, when the broker does not answer. */
const gatewayStatuses: readonly number[] = [408, 502, 503, 504];

function reasonOf(error: OsbError, asked: Asked): string | undefined {
  const { status, specified } = error;
  if (specified === "ConcurrencyError" || status === 429) return "BrokerBusy";
  if (gatewayStatuses.includes(status)) return "BrokerUnreachable";
  return asked === "change" && isRefusal(error) ? "Refused" : undefined;
}
