/** Connects to sockets whose path is longer than the 107 bytes that the kernel takes. */
import { once } from "node:events";
import { open } from "node:fs/promises";
import { connect, type Socket } from "node:net";

/** Connects to a socket in the folder. Throws when no server listens. */
export async function connectIn(folder: string, name: string): Promise<Socket> {
  await using handle = await open(folder);
  const socket = connect(`/proc/self/fd/${handle.fd}/${name}`);
  await once(socket, "connect");
  // Later errors show by the end of the connection.
  socket.on("error", () => undefined);
  return socket;
}
