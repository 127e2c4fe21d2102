/**
 * A wire between the agents and an API server that can be cut, stopped, slowed and torn. It passes TLS through, so every request is
 * hit, not only watches, and HTTP/2 stays as it is. Each agent process appears at the server under an address of its own, by which the
 * audit log tells the processes apart.
 */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** Where the connections of one process seem to come from. */
export interface Origin {
  /** An address of the loopback network. */
  readonly address: string;
  /** The agent, over all its processes. */
  readonly identity: string;
}

/** The wire. */
export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
  /** Where new connections go. */
  route(port: number): void;
  /** Breaks every connection without a farewell. */
  cut(): void;
  /** While on, new connections are broken at once. */
  refuse(isOn: boolean): void;
  /** While on, nothing gets through in either direction, and nothing is closed. */
  blackHole(isOn: boolean): void;
  /** A black hole for one agent only; undefined ends it. */
  isolate(identity: string | undefined): void;
  /** Holds every piece back for so long. 0 ends it. */
  delay(delayMs: number): void;
  /** The next piece from the server is cut in the middle and its connection broken: an answer to a write is lost. */
  truncate(): void;
  /** Ends every lasting fault. */
  heal(): void;
}

interface Faults {
  delayMs: number;
  isBlack: boolean;
  isolated: string | undefined;
  isRefusing: boolean;
  cutNext: boolean;
}

const noFaults: Faults = {
  delayMs: 0,
  isBlack: false,
  isolated: undefined,
  isRefusing: false,
  cutNext: false,
};
const blackPollMs = 20;

/** Starts the wire. `originOf` says which process a client port belongs to; connections of nobody are broken. */
export async function startTcpProxy(
  target: number,
  originOf: (clientPort: number, proxyPort: number) => Promise<Origin | undefined>,
): Promise<TcpProxy> {
  const faults: Faults = { ...noFaults };
  const open = new Set<Socket>();
  const state = { target, port: 0 };
  const keep = (socket: Socket): void => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    // Its end is all that matters; `close` follows.
    socket.on("error", () => undefined);
  };
  const accept = async (client: Socket): Promise<void> => {
    keep(client);
    const origin = faults.isRefusing ? undefined : await originOf(client.remotePort ?? 0, state.port);
    if (origin === undefined || client.destroyed) {
      client.resetAndDestroy();
      return;
    }
    const server = connect({ host: "127.0.0.1", port: state.target, localAddress: origin.address });
    keep(server);
    client.on("close", () => server.destroy());
    server.on("close", () => client.destroy());
    const isBlack = (): boolean => faults.isBlack || faults.isolated === origin.identity;
    const shared = { faults, isBlack };
    await Promise.all([
      pump(client, server, { ...shared, isAnswer: false }),
      pump(server, client, { ...shared, isAnswer: true }),
    ]);
  };
  const listener = createServer((client) => void accept(client).catch(() => client.destroy()));
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const address = listener.address();
  state.port = typeof address === "object" && address !== null ? address.port : 0;
  const cut = (): void => open.forEach((socket) => socket.destroy());
  return {
    port: state.port,
    route: (port) => void (state.target = port),
    cut,
    refuse: (isOn) => void (faults.isRefusing = isOn),
    blackHole: (isOn) => void (faults.isBlack = isOn),
    isolate: (identity) => void (faults.isolated = identity),
    delay: (delayMs) => void (faults.delayMs = delayMs),
    truncate: () => void (faults.cutNext = true),
    heal: () => void Object.assign(faults, noFaults),
    async [Symbol.asyncDispose]() {
      const closed = once(listener, "close");
      listener.close();
      cut();
      await closed;
    },
  };
}

interface Direction {
  readonly faults: Faults;
  readonly isBlack: () => boolean;
  readonly isAnswer: boolean;
}

async function pump(from: Socket, to: Socket, { faults, isBlack, isAnswer }: Direction): Promise<void> {
  try {
    for await (const chunk of from) {
      if (!(chunk instanceof Uint8Array)) continue;
      if (faults.delayMs > 0) await sleep(faults.delayMs);
      while (isBlack() && !to.destroyed) await sleep(blackPollMs);
      if (to.destroyed) return;
      if (isAnswer && faults.cutNext) {
        faults.cutNext = false;
        to.end(chunk.subarray(0, Math.floor(chunk.length / 2)));
        from.destroy();
        return;
      }
      if (!to.write(chunk)) await Promise.race([once(to, "drain"), once(to, "close")]);
    }
    to.end();
  } catch {
    to.destroy();
  }
}
