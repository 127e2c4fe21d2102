/** The names that every line of every process uses for the same things: the source of docs/reference/logs.md, and what tests hold lines against. */

/** One field of log lines. */
export interface LogField {
  readonly name: string;
  readonly type: "text" | "object" | "list of texts";
  /** `each` line has it; others where they are about it. */
  readonly on: "each" | "a reconcile" | "an HTTP request" | "a recorded trace" | "a failure";
  /** One sentence. */
  readonly help: string;
  /** Pattern of its text. Default: any. */
  readonly form?: RegExp | undefined;
}

const hex = (digits: number): RegExp => new RegExp(`^[0-9a-f]{${digits}}$`);
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The fields with a meaning that never changes. A line may have others beside them; those belong to its message. */
export const logFields: readonly LogField[] = [
  {
    name: "time",
    type: "text",
    on: "each",
    help: "When it was written, RFC 3339 in UTC with milliseconds.",
    form: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
  },
  {
    name: "level",
    type: "text",
    on: "each",
    help: "`debug`, `info`, `warn` or `error`.",
    form: /^(?:debug|info|warn|error)$/,
  },
  { name: "component", type: "text", on: "each", help: "The program, or `audit` for the audit log." },
  {
    name: "msg",
    type: "text",
    on: "each",
    help: "A constant text; all that differs stands in other fields.",
  },
  { name: "controller", type: "text", on: "a reconcile", help: "Name of the controller, as in the metrics." },
  { name: "key", type: "text", on: "a reconcile", help: "What was reconciled, usually `namespace/name`." },
  {
    name: "object",
    type: "object",
    on: "a reconcile",
    help: "Its `kind`, `namespace` and `name`, where the key is that of an object.",
  },
  {
    name: "reconcileID",
    type: "text",
    on: "a reconcile",
    help: "The same for all lines of one reconcile.",
    form: uuid,
  },
  { name: "reasons", type: "list of texts", on: "a reconcile", help: "Why it ran." },
  {
    name: "requestID",
    type: "text",
    on: "an HTTP request",
    help: "The same for all lines of one request; that of a proxy in front (`X-Request-ID`) where it sent one of 8 to 64 letters, digits and hyphens.",
    form: /^[A-Za-z0-9-]{8,64}$/,
  },
  {
    name: "traceID",
    type: "text",
    on: "a recorded trace",
    help: "Trace in which it was written.",
    form: hex(32),
  },
  { name: "spanID", type: "text", on: "a recorded trace", help: "Span of that trace.", form: hex(16) },
  {
    name: "error",
    type: "object",
    on: "a failure",
    help: "`name`, `message`, `stack` and `cause`, or a text.",
  },
];

/** Spellings of the same things that no line uses. */
const otherNames =
  /^(?:logger|ts|timestamp|severity|message|reconcile_?[iI]d|request_?[iI]d|trace_?[iI]d|span_?[iI]d|err)$/;

/** Returns the faults of the line, in words; nothing if it fits. */
export function faultsOfLine(text: string): readonly string[] {
  let line: unknown;
  try {
    line = JSON.parse(text);
  } catch {
    return ["it is no JSON"];
  }
  if (typeof line !== "object" || line === null || Array.isArray(line)) return ["it is no object"];
  const values = new Map(Object.entries(line));
  const isReconcile = values.has("reconcileID");
  return [
    ...logFields.flatMap((field) => {
      const value: unknown = values.get(field.name);
      const isNeeded =
        field.on === "each" || (isReconcile && field.on === "a reconcile" && field.name !== "object");
      if (value === undefined) return isNeeded ? [`it lacks ${field.name}`] : [];
      return fits(field, value) ? [] : [`${field.name} is ${JSON.stringify(value)}`];
    }),
    ...[...values.keys()].filter((name) => otherNames.test(name)).map((name) => `${name} has another name`),
  ];
}

function fits({ name, type, form }: LogField, value: unknown): boolean {
  if (name === "error") return typeof value === "string" || (typeof value === "object" && value !== null);
  if (type === "list of texts") return Array.isArray(value) && value.every((one) => typeof one === "string");
  if (type === "object") return isObjectName(value);
  return typeof value === "string" && (form ?? /./s).test(value);
}

function isObjectName(value: unknown): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    "kind" in value &&
    "name" in value &&
    Object.entries(value).every(
      ([name, text]) => ["kind", "namespace", "name"].includes(name) && typeof text === "string",
    )
  );
}
