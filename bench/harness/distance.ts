/** A wire to a server that is far away: whatever is sent arrives later, in the same order, as much of it as anybody likes. */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** The wire. */
export interface Distance extends AsyncDisposable {
  /** `https://127.0.0.1:<port>` */
  readonly url: string;
}

/** Starts a wire to the server of this URL. `wayMs`: there and back. */
export async function startDistance(target: string, wayMs: number): Promise<Distance> {
  const port = Number(new URL(target).port);
  const open = new Set<Socket>();
  const pass = (from: Socket, to: Socket): void => {
    open.add(from);
    from.setNoDelay(true);
    const later = (deliver: () => void): void => void setTimeout(deliver, wayMs / 2);
    from.on("data", (chunk) => later(() => to.writable && to.write(chunk)));
    // Its end is all that matters; `close` follows.
    from.on("error", () => undefined);
    from.on("close", () => {
      open.delete(from);
      later(() => to.destroy());
    });
  };
  const server = createServer((near) => {
    const far = connect(port, "127.0.0.1");
    pass(near, far);
    pass(far, near);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const own = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `https://127.0.0.1:${own}`,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
