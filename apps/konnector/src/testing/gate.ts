/** A TCP gate in front of a real API server that can be shut: no real server refuses connections on demand. */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

/** Open from the start. */
export interface Gate extends AsyncDisposable {
  /** `https://127.0.0.1:<port>` */
  readonly url: string;
  /** Breaks all connections and takes no new ones. */
  shut(): Promise<void>;
  open(): Promise<void>;
}

/** Opens a gate to the server of this URL. */
export async function startGate(target: string): Promise<Gate> {
  const port = Number(new URL(target).port);
  const sockets = new Set<Socket>();
  const make = (): Server =>
    createServer((near) => {
      const far = connect(port, "127.0.0.1");
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(one);
        one.on("error", () => undefined);
        one.on("close", () => {
          sockets.delete(one);
          other.destroy();
        });
        one.pipe(other);
      }
    });
  let server = make().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const own = typeof address === "object" && address !== null ? address.port : 0;
  const shut = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    if (!server.listening) return;
    server.close();
    await once(server, "close");
  };
  return {
    url: `https://127.0.0.1:${own}`,
    shut,
    async open() {
      server = make().listen(own, "127.0.0.1");
      await once(server, "listening");
    },
    [Symbol.asyncDispose]: shut,
  };
}
