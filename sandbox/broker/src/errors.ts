/** An error answer of the broker (OSB "Service Broker Errors"). `message` is shown to users word for word. */
export class BrokerError extends Error {
  readonly status: 400 | 401 | 404 | 409 | 410 | 412 | 413 | 422 | 423;
  /** Machine-readable. */
  readonly error: string;

  constructor(status: BrokerError["status"], error: string, message: string) {
    super(message);
    this.name = "BrokerError";
    this.status = status;
    this.error = error;
  }
}

/** Refuses a request that is wrong whenever it is sent. */
export function badRequest(message: string): BrokerError {
  return new BrokerError(400, "BadRequest", message);
}

/** Refuses an object that does not exist. */
export function notFound(kind: "Instance" | "Binding", id: string, status: 404 | 410 = 404): BrokerError {
  return new BrokerError(status, `${kind}NotFound`, `${kind.toLowerCase()} ${id} does not exist`);
}

/** Reads a request body that must be a JSON object. */
export async function objectIn(request: Pick<Request, "json">): Promise<Readonly<Record<string, unknown>>> {
  const value: unknown = await request.json().catch(() => undefined);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw badRequest("the body is not a JSON object");
  return Object.fromEntries(Object.entries(value));
}

/** Reads an identifier of a path, which is opaque but must be printable and short. */
export function identifierIn(value: string | undefined, name: "instance" | "binding"): string {
  if (value !== undefined && /^[\x21-\x7e]{1,255}$/.test(value)) return value;
  throw badRequest(`the ${name} id must have 1 to 255 printable characters without spaces`);
}
