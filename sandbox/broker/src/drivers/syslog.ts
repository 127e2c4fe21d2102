/** Syslog by TLS (RFC 5425): messages of RFC 5424, and any other line as it is, become documents. */
import { Buffer } from "node:buffer";

/** Longest message, in bytes; RFC 5425 asks for 8192 at the least. */
export const longestMessage: number = 64 * 1024;

/** A message as it is indexed. */
export interface LogDocument {
  readonly "@timestamp": string;
  readonly message: string;
  readonly facility?: number;
  readonly severity?: number;
  readonly hostname?: string;
  readonly appname?: string;
  readonly procid?: string;
  readonly msgid?: string;
  readonly structured_data?: string;
}

/** Priority, version, time, host, application, process, message's id, structured data, text. */
const rfc5424 =
  /^<(\d{1,3})>1 (\S+) (\S{1,255}) (\S{1,128}) (\S{1,128}) (\S{1,32}) (-|(?:\[(?:[^\]\\"]|"(?:\\.|[^"\\])*")*\])+)(?: ?([\s\S]*))?$/;
const highestPriority = 191;

/** Reads one message. Anything but RFC 5424 is kept whole as text, at the time of its arrival. */
export function readMessage(line: string, now: Date): LogDocument {
  const arrived = now.toISOString();
  const found = rfc5424.exec(line);
  const priority = Number(found?.[1]);
  if (found === null || priority > highestPriority) return { "@timestamp": arrived, message: line };
  const [, , time = "", hostname, appname, procid, msgid, structured, text = ""] = found;
  const sent = new Date(time);
  const fields = { hostname, appname, procid, msgid, structured_data: structured };
  const given = Object.entries(fields).filter(([, value]) => value !== "-");
  return {
    "@timestamp": Number.isNaN(sent.getTime()) ? arrived : sent.toISOString(),
    facility: priority >> 3,
    severity: priority & 7,
    ...Object.fromEntries(given),
    message: text.replace(/^\u{FEFF}/u, ""),
  };
}

/** The sender is no syslog client, or its message is too long; its connection ends. */
export class SyslogFault extends Error {}

/** Takes apart what one connection sends: messages with their length before them, or lines. */
export class SyslogFrames {
  #rest: Buffer = Buffer.alloc(0);

  /** Returns the messages that are complete now. Throws `SyslogFault`. */
  push(chunk: Buffer): readonly string[] {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    const messages: string[] = [];
    for (let next = this.#take(); next !== undefined; next = this.#take())
      if (next.trim() !== "") messages.push(next.replace(/\r?\n$/, ""));
    return messages;
  }

  #take(): string | undefined {
    const [, digits] = /^(\d{1,9}) /.exec(this.#rest.toString("latin1", 0, 11)) ?? [];
    const start = digits === undefined ? 0 : digits.length + 1;
    const newline = digits === undefined ? this.#rest.indexOf("\n") : -1;
    const length = digits === undefined ? newline + 1 : Number(digits);
    if (length > longestMessage || (length === 0 && this.#rest.length > longestMessage))
      throw new SyslogFault(`a message is longer than ${longestMessage} bytes`);
    if (length === 0 && digits === undefined) return undefined;
    if (this.#rest.length < start + length) return undefined;
    const message = this.#rest.toString("utf8", start, start + length);
    this.#rest = this.#rest.subarray(start + length);
    return message;
  }
}
