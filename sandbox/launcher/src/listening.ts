/** Tests whether a server listens. */
import { connect } from "node:net";

/** Returns true if a server accepts connections at the port now. */
export function isListening(port: number, host = "127.0.0.1"): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, host, () => {
    socket.destroy();
    resolve(true);
  });
  socket.on("error", () => resolve(false));
  return promise;
}
