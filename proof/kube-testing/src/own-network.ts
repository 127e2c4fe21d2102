/**
 * Gives a server that listens on all addresses, and has no flag for another one, a network namespace of its own. Nothing outside reaches it. It
 * reaches one server of this machine: a relay inside passes connections through a Unix socket, which no network namespace separates.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "@klutch/engines";

/** A server's own network, before the server runs in it. */
export interface OwnNetwork extends AsyncDisposable {
  /** Returns the command that runs another one inside. */
  readonly enter: (
    command: string,
    args: readonly string[],
  ) => { readonly command: string; readonly args: readonly string[] };
  /** Number of connections that came from inside. */
  readonly connections: number;
}

// An ordinary user needs a user namespace for it.
const flags = process.getuid?.() === 0 ? ["--net"] : ["--user", "--map-root-user", "--net"];
const withPath = 'PATH="$PATH:/usr/sbin:/sbin"; ip link set lo up || exit 1;';

/** Listens inside. Arguments: port, socket, and a file to make when it listens. */
const relay = `
const net = require("node:net");
const [port, path, sign] = process.argv.slice(1);
const server = net.createServer((inner) => {
  const outer = net.connect(path);
  inner.pipe(outer).pipe(inner);
  inner.on("error", () => outer.destroy());
  outer.on("error", () => inner.destroy());
});
server.listen(Number(port), "127.0.0.1", () => require("node:fs").writeFileSync(sign, ""));
`;

/** Arguments: Node, the relay and its three arguments, then the command. The group of the command ends with it, and so the relay. */
const inside = `${withPath}
sign=$5
"$1" -e "$2" "$3" "$4" "$5" </dev/null &
shift 5
until [ -e "$sign" ]; do sleep 0.1; done
exec "$@"
`;

/** Returns why this machine has no network namespaces for us; undefined when it has. */
export function missingForOwnNetwork(): Promise<string | undefined> {
  return run("unshare", [...flags, "/bin/sh", "-c", withPath]).then(
    () => undefined,
    (error: unknown) => `this machine does not allow network namespaces: ${String(error)}`,
  );
}

/** Prepares a network from which `127.0.0.1:<port>` is that of this machine. Throws the words of `missingForOwnNetwork`. */
export async function prepareOwnNetwork(port: number): Promise<OwnNetwork> {
  const missing = await missingForOwnNetwork();
  if (missing !== undefined) throw new Error(missing);
  await using stack = new AsyncDisposableStack();
  // Of the folders of a test, some have a longer path than a socket may have.
  const folder = await mkdtemp(join(tmpdir(), "klutch-net-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const [path, sign] = [join(folder, "socket"), join(folder, "listens")];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((inner) => {
    connections++;
    const outer = connect({ host: "127.0.0.1", port });
    for (const [one, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      sockets.add(one);
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => sockets.delete(one));
    }
  });
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  server.listen(path, resolve);
  await listening;
  stack.defer(() => {
    const { promise: closed, resolve: end } = Promise.withResolvers<void>();
    server.close(() => end());
    for (const socket of sockets) socket.destroy();
    return closed;
  });
  const kept = stack.move();
  return {
    enter: (command, args) => ({
      command: "unshare",
      args: [
        ...flags,
        "/bin/sh",
        "-c",
        inside,
        "own-network",
        process.execPath,
        relay,
        String(port),
        path,
        sign,
        command,
        ...args,
      ],
    }),
    get connections() {
      return connections;
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
