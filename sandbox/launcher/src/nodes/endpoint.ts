/**
 * A registry's endpoint: one port with TLS for people and without for clusters. People's tools want TLS, as they get from registries of theirs.
 * Clients in the clusters speak plain HTTP to an address of RFC 1918 once they see that they do not trust the certificate.
 */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { KeyPair } from "@klutch/certificates";

/** First byte of a TLS handshake (RFC 8446, section 5.1: ContentType). */
const handshake = 22;

/** Opens it on this address, in front of a server without TLS, until it is disposed. `host` is `host:port`. */
export async function openEndpoint(
  address: string,
  target: URL,
  { certificate, key }: KeyPair,
): Promise<AsyncDisposable & { readonly host: string }> {
  const pass = (outside: Socket): void => {
    const inside = connect(Number(target.port), target.hostname);
    // The server's last words are still on their way to the client when the server closes.
    inside.on("error", () => outside.destroy()).on("close", () => outside.end());
    outside.on("error", () => inside.destroy()).on("close", () => inside.destroy());
    outside.pipe(inside).pipe(outside);
  };
  const tls = createTlsServer({ cert: certificate, key: key.reveal() }, pass);
  // A client that does not trust us is no fault of the endpoint.
  tls.on("tlsClientError", () => undefined);
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket)).on("error", () => socket.destroy());
    socket.once("data", (first: Buffer) => {
      socket.pause();
      socket.unshift(first);
      if (first[0] === handshake) tls.emit("connection", socket);
      else pass(socket);
    });
  });
  server.listen(0, address);
  await once(server, "listening");
  const own = server.address();
  if (own === null || typeof own === "string") throw new Error(`no port was opened on ${address}`);
  return {
    host: `${address}:${own.port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
