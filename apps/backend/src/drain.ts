/** Ends an HTTP server without cutting off those whom it serves. */
import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "@klutch/kube";

/**
 * Time in milliseconds for which holders of a connection may still use it; each answer tells them that it ends. A client that sends a request
 * while its idle connection is being closed gets no answer, and cannot know whether the request was handled.
 * Between two steps of a login a loaded client paused for more than two seconds.
 */
const lingerMs = 5_000;
/** Maximum time for requests in flight after that. The chart gives the Pod 30 s, of which it waits 5 first. */
const longestAnswerMs = 15_000;

/**
 * Watches the server's connections; call it before the first request. The returned function ends the server: each connection after its next
 * answer, idle ones after `lingerMs`, all of them `longestAnswerMs` later. Without a connection it ends at once.
 */
export function drainable(server: Server, clock: Clock): () => Promise<void> {
  const sockets = new Set<Socket>();
  const open = new Set<ServerResponse>();
  let isEnding = false;
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  server.prependListener("request", (_request, response: ServerResponse) => {
    if (isEnding) response.shouldKeepAlive = false;
    open.add(response);
    response.on("close", () => open.delete(response));
  });
  return async () => {
    isEnding = true;
    for (const response of open) response.shouldKeepAlive = false;
    if (sockets.size > 0) await clock.sleep(lingerMs);
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    const cancel = clock.schedule(longestAnswerMs, () => server.closeAllConnections());
    server.close(() => resolve());
    await closed;
    cancel();
  };
}
