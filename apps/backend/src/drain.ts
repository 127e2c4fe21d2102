/** Ends an HTTP server without cutting off those whom it serves. */
import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "@klutch/kube";

/**
 * So long those who hold a connection may still use it, in milliseconds; the answer tells them that it ends. Who writes at the moment in
 * which an idle connection is closed gets no answer, and cannot know what became of the request.
 */
const lingerMs = 2_000;
/** How long requests in flight may take then. The chart gives the Pod 30 s, of which it waits 5 first. */
const longestAnswerMs = 15_000;

/**
 * To be called before the first request. What it gives back ends the server: each connection after its next answer, idle ones after
 * `lingerMs`, and all of them `longestAnswerMs` later. Without a connection it ends at once.
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
