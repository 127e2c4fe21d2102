/** A plugin that waits for the answer that a real browser brings. */
import { createServer } from "node:http";

/** Plays the plugin: takes the answer on loopback. */
export async function plugin(): Promise<
  { readonly port: number; readonly answer: Promise<URL> } & AsyncDisposable
> {
  const { promise: answer, resolve } = Promise.withResolvers<URL>();
  const server = createServer((request, response) => {
    if (request.url?.startsWith("/callback") === true) resolve(new URL(request.url, "http://localhost"));
    response.end("<!doctype html><html lang=en><title>done</title><main><h1>Done</h1></main></html>");
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, "localhost", () => listening.resolve());
  await listening.promise;
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    answer,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await Promise.resolve();
    },
  };
}
