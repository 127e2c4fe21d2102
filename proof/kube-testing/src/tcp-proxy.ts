/**
 * A wire between clients and a server that causes faults on demand, which real networks and servers do not. It passes bytes through
 * as they are, so TLS and HTTP/2 stay whole and every request is hit, not only watches.
 *
 * It cannot lose or reorder bytes, cannot press back on a sender (it keeps undelivered bytes in memory), and delays the bytes that are
 * sent, not the opening of a connection. `startFaultProxy` causes the faults that need to understand HTTP.
 */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

/** The owner of a connection. */
export interface ConnectionOrigin {
  /** The address of the loopback network from which the server sees it come. */
  readonly address: string;
  /** The name by which `isolate` takes it. */
  readonly identity: string;
}

/** Options of a wire. */
export interface TcpProxyOptions {
  /** Returns the owner of the connection from a client's port; a connection without an owner is broken. Default: all come from 127.0.0.1. */
  readonly originOf?:
    | ((clientPort: number, proxyPort: number) => Promise<ConnectionOrigin | undefined>)
    | undefined;
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
const host = "127.0.0.1";

/** The wire. Passes everything through at once until a fault is set. Ending it breaks every connection. */
export class TcpProxy implements AsyncDisposable {
  readonly #faults: Faults = { ...noFaults };
  readonly #sockets = new Set<Socket>();
  readonly #ways = new Set<() => void>();
  readonly #originOf: NonNullable<TcpProxyOptions["originOf"]>;
  readonly #listener: Server;
  #target: URL;
  #port = 0;

  private constructor(target: string, options: TcpProxyOptions) {
    this.#target = new URL(target);
    this.#originOf = options.originOf ?? (() => Promise.resolve({ address: host, identity: "" }));
    this.#listener = createServer((client) => void this.#accept(client).catch(() => client.destroy()));
  }

  /** Starts a wire to the server of this URL, which is on this machine. */
  static async start(target: string, options: TcpProxyOptions = {}): Promise<TcpProxy> {
    const proxy = new TcpProxy(target, options);
    await proxy.open();
    return proxy;
  }

  /** The target's URL, with the address of the wire. */
  get url(): string {
    return `${this.#target.protocol}//${host}:${this.#port}`;
  }

  /** Sends new connections to this target from now on. */
  route(target: string): void {
    this.#target = new URL(target);
  }

  /** Breaks every connection without a farewell. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Breaks every connection, and nothing listens any more: the next ones are refused. */
  async shut(): Promise<void> {
    this.cut();
    if (!this.#listener.listening) return;
    const closed = once(this.#listener, "close");
    this.#listener.close();
    await closed;
  }

  /** Listens again after `shut`, at the same port. */
  async open(): Promise<void> {
    this.#listener.listen(this.#port, host);
    await once(this.#listener, "listening");
    const address = this.#listener.address();
    if (typeof address === "object" && address !== null) this.#port = address.port;
  }

  /** While on, new connections are taken and broken at once. */
  refuse(isOn: boolean): void {
    this.#change({ isRefusing: isOn });
  }

  /** While on, nothing gets through in either direction, and nothing is closed. Held bytes of a connection that ends are lost. */
  blackHole(isOn: boolean): void {
    this.#change({ isBlack: isOn });
  }

  /** A black hole for the connections of one identity only; undefined ends it. */
  isolate(identity: string | undefined): void {
    this.#change({ isolated: identity });
  }

  /** Delays every piece by this time, in each direction; order stays, and many pieces are under way at once. 0 ends it. */
  delay(delayMs: number): void {
    this.#change({ delayMs });
  }

  /** The next piece from the server is cut in the middle and its connection broken: an answer to a write is lost. */
  truncate(): void {
    this.#change({ cutNext: true });
  }

  /** Ends every lasting fault but `shut`. */
  heal(): void {
    this.#change(noFaults);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shut();
  }

  #change(faults: Partial<Faults>): void {
    Object.assign(this.#faults, faults);
    for (const deliver of this.#ways) deliver();
  }

  async #accept(client: Socket): Promise<void> {
    this.#keep(client);
    const faults = this.#faults;
    const isWanted = !faults.isRefusing;
    const origin = isWanted ? await this.#originOf(client.remotePort ?? 0, this.#port) : undefined;
    if (origin === undefined || client.destroyed) {
      client.resetAndDestroy();
      return;
    }
    const server = connect({ host, port: Number(this.#target.port), localAddress: origin.address });
    this.#keep(server);
    const isHeld = (): boolean => faults.isBlack || faults.isolated === origin.identity;
    this.#join(client, server, { faults, isHeld, isAnswer: false });
    this.#join(server, client, { faults, isHeld, isAnswer: true });
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("close", () => this.#sockets.delete(socket));
    // Its end is all that matters; `close` follows.
    socket.on("error", () => undefined);
  }

  #join(from: Socket, to: Socket, circumstances: Circumstances): void {
    const deliver = startWay(from, to, circumstances);
    this.#ways.add(deliver);
    to.on("close", () => this.#ways.delete(deliver));
  }
}

interface Circumstances {
  readonly faults: Faults;
  readonly isHeld: () => boolean;
  readonly isAnswer: boolean;
}

/** Carries the bytes of one direction. The result delivers the pieces that are due and not held. */
function startWay(from: Socket, to: Socket, { faults, isHeld, isAnswer }: Circumstances): () => void {
  const pieces: { isDue: boolean; readonly arrive: () => void }[] = [];
  const deliver = (): void => {
    while (pieces[0]?.isDue === true && !isHeld()) pieces.shift()?.arrive();
  };
  const send = (arrive: () => void): void => {
    const piece = { isDue: false, arrive };
    const fall = (): void => {
      piece.isDue = true;
      deliver();
    };
    pieces.push(piece);
    if (faults.delayMs > 0) setTimeout(fall, faults.delayMs);
    else fall();
  };
  const write = (chunk: Uint8Array): void => {
    if (!to.writable) return;
    if (!isAnswer || !faults.cutNext) {
      to.write(chunk);
      return;
    }
    faults.cutNext = false;
    to.end(chunk.subarray(0, Math.floor(chunk.length / 2)));
    from.destroy();
  };
  from.on("data", (chunk: Uint8Array) => send(() => write(chunk)));
  from.on("close", () => {
    if (isHeld()) to.destroy();
    else send(() => to.destroySoon());
  });
  return deliver;
}
