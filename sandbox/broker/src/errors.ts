/** An error answer of the broker (OSB "Service Broker Errors"). `message` is shown to users word for word. */
export class BrokerError extends Error {
  readonly status: 400 | 401 | 404 | 409 | 410 | 412 | 422 | 423 | 503;
  /** Machine-readable. */
  readonly error: string;

  constructor(status: BrokerError["status"], error: string, message: string) {
    super(message);
    this.name = "BrokerError";
    this.status = status;
    this.error = error;
  }
}
