/** A logger that keeps what was said. */
import type { LogFields, Logger } from "@klutch/telemetry";

/** One line, with the fields of the logger it came from. */
export interface LogLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  readonly fields: LogFields;
}

/** Writes into `lines`. */
export function recordingLogger(lines: LogLine[], own: LogFields = {}): Logger {
  const at =
    (level: LogLine["level"]) =>
    (message: string, fields?: LogFields): void =>
      void lines.push({ level, message, fields: { ...own, ...fields } });
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (fields) => recordingLogger(lines, { ...own, ...fields }),
  };
}
