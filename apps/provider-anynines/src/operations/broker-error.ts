/** What a broker's errors and texts become in conditions, annotations and events: its words, one reason, and never a login. */
import { plainText } from "@klutch/api";
import { ExternalError } from "@klutch/crossplane";
import { isConcurrency, isRefusal, OsbError, OsbTransportError } from "@klutch/osb";

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

/** The broker's own words for the condition. Other errors are given back as they are. */
export function toExternalError(error: unknown, asked: Asked): unknown {
  if (error instanceof OsbError) {
    const { retryAfterMs = isConcurrency(error) ? busyMs : undefined, status, specified } = error;
    const isBusy = specified === "ConcurrencyError" || status === 429;
    return new ExternalError(brokerText(error.message), {
      cause: error,
      retryAfterMs,
      reason: reasonOfAnswer({ status, isBusy, isRefusal: isRefusal(error) }, asked),
    });
  }
  if (error instanceof OsbTransportError) {
    const reason = reasonWithoutAnswer(error.code);
    return new ExternalError(brokerText(error.message), { cause: error, reason });
  }
  return error;
}

/** `question`: nothing was to be changed, so an answer of no is not about the spec. */
export type Asked = "question" | "change";

/** An answer that is not 2xx. */
interface BadAnswer {
  /** HTTP status. */
  readonly status: number;
  /** Something else goes on. */
  readonly isBusy: boolean;
  /** Time changes nothing of it. */
  readonly isRefusal: boolean;
}

/** By what stands before a backend, when the backend does not answer. */
const gatewayStatuses: readonly number[] = [408, 502, 503, 504];
/** Codes of both clients. */
const withoutAnswer: readonly string[] = ["Unreachable", "Timeout", "Broken", "Tls"];

/** Undefined: there is no word for it. */
export function reasonOfAnswer({ status, isBusy, isRefusal }: BadAnswer, asked: Asked): string | undefined {
  if (isBusy) return "BrokerBusy";
  if (gatewayStatuses.includes(status)) return "BrokerUnreachable";
  return asked === "change" && isRefusal ? "Refused" : undefined;
}

/** `code`: why there is no answer that can be used. */
export function reasonWithoutAnswer(code: string): string | undefined {
  return withoutAnswer.includes(code) ? "BrokerUnreachable" : undefined;
}
