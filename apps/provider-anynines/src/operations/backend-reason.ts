/** The one word for what went wrong at a broker or a backup manager, for the Synced condition. */

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
