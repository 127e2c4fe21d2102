/** Logs the requests of this process to one server, and their failures, at the wire. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { numberAt, textAt } from "@klutch/kube-core";

/** One request, or one failure. */
export interface WireEntry {
  /** Milliseconds since the epoch, with fractions: logs of several processes of one machine can be joined. */
  readonly at: number;
  /** `watch`, `list` or `other` for a request, `refused` for a refused connection, else a status from 400 on. */
  readonly kind: string;
}

/** Collects entries until it is disposed. */
export interface WireLog extends Disposable {
  /** Returns the entries since the last call. */
  take(): readonly WireEntry[];
}

/** Starts a log on the channels of undici, through which the client sends. `server`: its URL. */
export function startWireLog(server: string): WireLog {
  let entries: WireEntry[] = [];
  const { origin, host } = new URL(server);
  const note = (kind: string): void => void entries.push({ at: wallClock(), kind });
  const listeners: readonly (readonly [string, (message: unknown) => void])[] = [
    [
      "undici:client:sendHeaders",
      (message) => {
        if (isFor(message, origin)) note(kindOf(textAt(message, "request", "path") ?? ""));
      },
    ],
    [
      "undici:request:headers",
      (message) => {
        const status = numberAt(message, "response", "statusCode") ?? 0;
        if (status >= 400 && isFor(message, origin)) note(String(status));
      },
    ],
    [
      "undici:client:connectError",
      (message) => {
        if (textAt(message, "connectParams", "host") === host) note("refused");
      },
    ],
  ];
  for (const [channel, listener] of listeners) subscribe(channel, listener);
  return {
    take() {
      const taken = entries;
      entries = [];
      return taken;
    },
    [Symbol.dispose]() {
      for (const [channel, listener] of listeners) unsubscribe(channel, listener);
    },
  };
}

/** Milliseconds since the epoch, with fractions. */
export function wallClock(): number {
  return performance.timeOrigin + performance.now();
}

function isFor(message: unknown, origin: string): boolean {
  return textAt(message, "request", "origin") === origin;
}

function kindOf(path: string): string {
  const { searchParams } = new URL(path, "https://server");
  if (searchParams.get("watch") === "true") return "watch";
  return searchParams.has("limit") ? "list" : "other";
}
