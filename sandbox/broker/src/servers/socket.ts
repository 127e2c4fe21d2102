/** Connections to sockets whose path is longer than the 107 bytes that the kernel takes. */
import { once } from "node:events";
import { open } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import type { Place } from "./kind.ts";

/** A connection to a socket in the server's own folder. Throws when nobody listens. */
export async function connectTo(place: Place, name: string): Promise<Socket> {
  const folder = await open(place.data);
  try {
    const socket = connect(`/proc/self/fd/${folder.fd}/${name}`);
    await once(socket, "connect");
    // What goes wrong later shows by its end.
    socket.on("error", () => undefined);
    return socket;
  } finally {
    await folder.close();
  }
}
