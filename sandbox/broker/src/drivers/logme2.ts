/** Logs: an OpenSearch server for each instance, and a listener for syslog by TLS, which writes each day's messages to an index of its own. */
import { once } from "node:events";
import { readFile, rm } from "node:fs/promises";
import type { Socket } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createServer, type TLSSocket } from "node:tls";
import { hostInUrl, keepPort, makeServerFolder, readIfThere, writeOwn } from "@klutch/data-servers";
import type { OpensearchProgram } from "@klutch/engines";
import type { Place, ServerKind, Session } from "./driver.ts";
import { askOpensearch, javaParameters, tlsParameters } from "./opensearch-server.ts";
import { readRecord, recordedPorts, syslogFolder, writeRecord } from "./record.ts";
import { searchKind } from "./search.ts";
import { readMessage, SyslogFault, SyslogFrames } from "./syslog.ts";

const tlsPrefix = "opensearch-";
/** Length of the messages in one request, and of those that wait before senders must. */
const batchSize = 1024 * 1024;
const mostWaiting = 16 * batchSize;
const flushMs = 300;
const longestWaitMs = 10_000;
const mostSenders = 200;

/** Returns the kind whose program `obtain` finds, or fetches when the first instance needs it. */
export function logme2Kind(
  obtain: () => Promise<OpensearchProgram>,
  now = (): Date => new Date(),
): ServerKind {
  const search = searchKind(obtain, tlsPrefix);
  return {
    ...search,
    type: "logme2",
    parameters: { ...javaParameters, ...tlsParameters(tlsPrefix) },
    async initialise(place, dump) {
      await search.initialise(place, dump);
      if (place.port === undefined) return;
      await makeServerFolder(join(place.home, syslogFolder));
      await using port = await portOf(place);
      await recordPort(place, port.port);
    },
    async open(place, spec) {
      const session = await search.open(place, spec);
      // Senders reach no server that takes the data of a restore.
      if (place.port === undefined) return session;
      return { ...session, [Symbol.asyncDispose]: await listen(place, now) };
    },
    async credentials({ home, port, reach: { host } }, { username, password }, authority) {
      const syslog = await readRecord(join(home, syslogFolder));
      const at = hostInUrl(host);
      return {
        cacrt: authority,
        host: `https://${at}:${port}`,
        password,
        syslog_drain_url: `syslog-tls://${at}:${syslog?.port}`,
        username,
      };
    },
  };
}

async function portOf({ home, reach }: Place) {
  const record = await readRecord(join(home, syslogFolder));
  // Of the folders of all instances of all kinds.
  const root = dirname(dirname(home));
  return keepPort(reach, record?.port, await recordedPorts(root));
}

async function recordPort({ home }: Place, port: number): Promise<void> {
  await writeRecord(join(home, syslogFolder), { port, data: syslogFolder, restored: [] });
}

/** Listens at the instance's port, and returns what ends it. Messages that the server does not take then wait in a file for the next one. */
async function listen(place: Place, now: () => Date): Promise<Session[typeof Symbol.asyncDispose]> {
  const { reach, tls } = place;
  await using stack = new AsyncDisposableStack();
  const { port } = stack.use(await portOf(place));
  await recordPort(place, port);
  const [cert, key] = await Promise.all([readFile(tls.certificate), readFile(tls.key)]);
  const connections = new Set<Socket>();
  const senders = new Set<TLSSocket>();
  const stop = new AbortController();
  const waitingFile = join(place.home, syslogFolder, "waiting");
  const writer = new LogWriter(place, senders, now);
  writer.addDocuments(((await readIfThere(waitingFile)) ?? "").split("\n").filter((each) => each !== ""));
  await rm(waitingFile, { force: true });
  const server = createServer({ cert, key }, (socket) => {
    const frames = new SyslogFrames();
    senders.add(socket);
    socket
      .on("data", (chunk: Buffer) => {
        try {
          writer.add(frames.push(chunk));
        } catch (error) {
          if (!(error instanceof SyslogFault)) throw error;
          socket.destroy();
        }
      })
      .on("error", () => socket.destroy())
      .on("close", () => senders.delete(socket));
  });
  // A sender is connected before the handshake ends here, so those that are to end are counted from the start.
  server.on("connection", (socket: Socket) => {
    connections.add(socket);
    socket.on("close", () => connections.delete(socket));
  });
  server.maxConnections = mostSenders;
  server.listen(port, reach.listen);
  await once(server, "listening");
  const written = writer.run(stop.signal);
  stack.defer(async () => {
    stop.abort();
    server.close();
    for (const connection of connections) connection.destroy();
    await written;
    await writeOwn(waitingFile, writer.waiting.join("\n"));
  });
  const kept = stack.move();
  return () => kept.disposeAsync();
}

/** Writes messages in batches, each again until the server takes it, and lets senders wait meanwhile. */
class LogWriter {
  readonly #place: Place;
  readonly #senders: ReadonlySet<TLSSocket>;
  readonly #now: () => Date;
  #waiting: string[] = [];
  #size = 0;

  constructor(place: Place, senders: ReadonlySet<TLSSocket>, now: () => Date) {
    this.#place = place;
    this.#senders = senders;
    this.#now = now;
  }

  /** The documents that the server has not taken yet. */
  get waiting(): readonly string[] {
    return this.#waiting;
  }

  add(lines: readonly string[]): void {
    this.addDocuments(lines.map((line) => JSON.stringify(readMessage(line, this.#now()))));
  }

  addDocuments(documents: readonly string[]): void {
    this.#waiting.push(...documents);
    for (const { length } of documents) this.#size += length;
    if (this.#size >= mostWaiting) for (const sender of this.#senders) sender.pause();
  }

  async run(signal: AbortSignal): Promise<void> {
    for (let waitMs = flushMs; !signal.aborted || this.#waiting.length > 0; ) {
      try {
        while (this.#waiting.length > 0) await this.#flush();
        waitMs = flushMs;
      } catch {
        if (signal.aborted) return;
        waitMs = Math.min(2 * waitMs, longestWaitMs);
      }
      await sleep(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #flush(): Promise<void> {
    let size = 0;
    const rest = this.#waiting.findIndex(({ length }) => (size += length) > batchSize);
    const part = this.#waiting.slice(0, rest === -1 ? undefined : Math.max(rest, 1));
    // The day of arrival: senders cannot make any number of indices.
    const create = JSON.stringify({ create: { _index: `logs-${this.#now().toISOString().slice(0, 10)}` } });
    const body = part.map((document) => `${create}\n${document}\n`).join("");
    const { items } = JSON.parse(await askOpensearch(this.#place, "POST", "/_bulk", body)) as BulkAnswer;
    // What can never be indexed (400) is dropped.
    const kept = part.filter((_, index) => isPassing(items[index]?.create.status ?? 0));
    this.#waiting = [...kept, ...this.#waiting.slice(part.length)];
    this.#size = this.#waiting.reduce((sum, { length }) => sum + length, 0);
    if (this.#size < mostWaiting) for (const sender of this.#senders) sender.resume();
    if (kept.length > 0) throw new Error(`OpenSearch did not take ${kept.length} messages`);
  }
}

interface BulkAnswer {
  readonly items: readonly { readonly create: { readonly status: number } }[];
}

/** Tells whether the server may take the message later: its disk is full, or it is busy. */
function isPassing(status: number): boolean {
  return status === 403 || status === 429 || status >= 500;
}
