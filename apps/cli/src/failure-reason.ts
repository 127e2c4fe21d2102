/** Words the failure of a request for people, from what Node and undici throw. */

const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused: nothing listens there",
  ENOTFOUND: "the host name is not known",
  EAI_AGAIN: "the host name cannot be looked up",
  ETIMEDOUT: "no answer in time",
  UND_ERR_CONNECT_TIMEOUT: "no answer in time",
  UND_ERR_HEADERS_TIMEOUT: "no answer in time",
  ECONNRESET: "the connection was closed",
  ERR_SSL_WRONG_VERSION_NUMBER: "it does not speak TLS; the address may have to start with http://",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is self-signed; trust its CA with NODE_EXTRA_CA_CERTS",
  SELF_SIGNED_CERT_IN_CHAIN: "its CA is not trusted; set NODE_EXTRA_CA_CERTS",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its CA is not trusted; set NODE_EXTRA_CA_CERTS",
};

/** Words why nothing came back, with `timeoutMs` as the longest time that was waited. */
export function failureReason(error: unknown, timeoutMs?: number): string {
  if (error instanceof AggregateError && error.errors.length > 0)
    return failureReason(error.errors[0], timeoutMs);
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError" && timeoutMs !== undefined)
    return `no answer within ${timeoutMs / 1000} s`;
  const known = "code" in error && typeof error.code === "string" ? words[error.code] : undefined;
  if (known !== undefined) return known;
  return error.cause === undefined
    ? (error.message.split("\n")[0] ?? "")
    : failureReason(error.cause, timeoutMs);
}
