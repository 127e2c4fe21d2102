/** Connections to Redis servers. One that has ended is not made again: a command that was sent may have taken place. */
import { createClient, type RedisClientOptions } from "@redis/client";
import type { postgres } from "@klutch/data-servers";

/** One connection. */
export interface RedisConnection extends Disposable {
  readonly hasEnded: boolean;
  /** Sends one command and waits for its reply. Throws an error with the server's words. */
  send(...words: readonly string[]): Promise<unknown>;
}

/** Connects and logs in. Without a login nothing is sent yet. */
export async function connectRedis(
  socket: RedisClientOptions["socket"],
  login: Partial<postgres.Login> = {},
): Promise<RedisConnection> {
  const client = createClient({
    ...login,
    socket: { ...socket, reconnectStrategy: false },
    RESP: 2,
    disableClientInfo: true,
    maintNotifications: "disabled",
  });
  // Commands that wait for a reply fail with the reason.
  client.on("error", () => undefined);
  await client.connect();
  return {
    get hasEnded() {
      return !client.isReady;
    },
    send: (...words) => client.sendCommand(words),
    [Symbol.dispose]: () => client.destroy(),
  };
}
