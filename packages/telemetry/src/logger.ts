/** Log interface of every part: a constant message, and variable parts as lower-camel keys. */
import { pino } from "pino";
import { contextOfLine } from "./log-context.ts";

/** Values of a log line. Put `Secret<T>` in, never a bare credential. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Severity, least first. */
export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

/** Logger of the parts. `error` takes the thrown value as `fields.error`. */
export interface Logger {
  /** False when `debug` writes nothing, so that a hot path need not build its fields. Default true. */
  readonly writesDebug?: boolean | undefined;
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Returns a logger that adds `fields` to each of its lines. */
  child(fields: LogFields): Logger;
}

/** Options of `createLogger`. */
export interface LoggerOptions {
  /** Name of the part, written as `component`. */
  readonly name: string;
  /** Default `info`. */
  readonly level?: LogLevel | undefined;
  /** Called with each finished line, newline included. Default: standard error. */
  readonly write?: ((line: string) => void) | undefined;
}

/** Creates a logger that writes JSON lines with `time` in RFC 3339. */
export function createLogger(options: LoggerOptions): Logger {
  const write = options.write;
  const destination = write === undefined ? pino.destination({ dest: 2, sync: true }) : { write };
  return wrap(
    pino(
      {
        base: { component: options.name },
        level: options.level ?? "info",
        mixin: contextOfLine,
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
        serializers: { error: describeError },
      },
      destination,
    ),
  );
}

/** Logger that writes nothing. */
export const silentLogger: Logger = {
  writesDebug: false,
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLogger,
};

function wrap(target: pino.Logger): Logger {
  return {
    writesDebug: target.isLevelEnabled("debug"),
    debug: (message, fields) => target.debug(fields ?? {}, message),
    info: (message, fields) => target.info(fields ?? {}, message),
    warn: (message, fields) => target.warn(fields ?? {}, message),
    error: (message, fields) => target.error(fields ?? {}, message),
    child: (fields) => wrap(target.child(fields)),
  };
}

/** Most causes of an error that are logged: a chain may be long, or lead back to itself. */
const mostCauses = 10;

/**
 * Returns the message chain and the stack of an error; never its enumerable fields, which may hold a request, and no cause that is not
 * itself an error: libraries put whole queries and bodies there.
 */
function describeError(error: unknown): unknown {
  return describeChain(error, mostCauses);
}

function describeChain(error: unknown, causes: number): unknown {
  if (!(error instanceof Error)) return String(error);
  const { name, message, stack, cause } = error;
  const goesOn = cause instanceof Error && causes > 0;
  return { name, message, stack, ...(goesOn ? { cause: describeChain(cause, causes - 1) } : {}) };
}
