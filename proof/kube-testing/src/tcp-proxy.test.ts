import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { TcpProxy, type TcpProxyOptions } from "./tcp-proxy.ts";

interface Echo extends AsyncDisposable {
  readonly url: string;
  /** Connections that it has now. */
  readonly sockets: Set<Socket>;
}

/** Answers every piece with the same in capitals. */
async function startEcho(): Promise<Echo> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => socket.write(chunk.toString().toUpperCase()));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return {
    url: `https://127.0.0.1:${address.port}`,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

class Client implements Disposable {
  readonly socket: Socket;
  readonly closed: Promise<unknown>;
  errorCode: string | undefined;
  received = "";

  constructor(url: string) {
    this.socket = connect(Number(new URL(url).port), "127.0.0.1");
    this.socket.on("error", (error: NodeJS.ErrnoException) => (this.errorCode = error.code));
    this.socket.on("data", (chunk) => (this.received += chunk.toString()));
    this.closed = new Promise((resolve) => this.socket.on("close", resolve));
  }

  /** Resolves when exactly this was received. */
  async until(received: string): Promise<void> {
    while (this.received !== received) await once(this.socket, "data");
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

async function startBoth(
  options?: TcpProxyOptions,
): Promise<AsyncDisposable & { echo: Echo; proxy: TcpProxy }> {
  await using stack = new AsyncDisposableStack();
  const echo = stack.use(await startEcho());
  const proxy = stack.use(await TcpProxy.start(echo.url, options));
  const owned = stack.move();
  return { echo, proxy, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** A client whose first piece has come back, and the other end of its connection. */
async function connected({
  echo,
  proxy,
}: {
  echo: Echo;
  proxy: TcpProxy;
}): Promise<{ client: Client; served: Socket } & Disposable> {
  const client = new Client(proxy.url);
  client.socket.write("a");
  await client.until("A");
  const served = [...echo.sockets].at(-1);
  assert.ok(served);
  return { client, served, [Symbol.dispose]: () => client[Symbol.dispose]() };
}

/** Long enough for a piece to cross several times. */
const crossingMs = 60;

test("everything passes through in both directions, and the end of one side is the end of the other", async () => {
  await using both = await startBoth();
  const { echo, proxy } = both;
  assert.match(proxy.url, /^https:\/\/127\.0\.0\.1:\d+$/);
  assert.notEqual(proxy.url, echo.url);
  using client = new Client(proxy.url);
  client.socket.write("hello ");
  await client.until("HELLO ");
  const long = "x".repeat(1_000_000);
  client.socket.write(long);
  await client.until(`HELLO ${long.toUpperCase()}`);
  const [served] = echo.sockets;
  assert.ok(served);
  served.end("bye");
  await client.closed;
  assert.ok(client.received.endsWith("Xbye"));
  assert.equal(client.errorCode, undefined);
});

test("a cut breaks the connections of now, and the next one works", async () => {
  await using both = await startBoth();
  const { proxy } = both;
  using pair = await connected(both);
  const { client, served } = pair;
  proxy.cut();
  await Promise.all([client.closed, once(served, "close")]);
  using next = new Client(proxy.url);
  next.socket.write("b");
  await next.until("B");
});

test("while it is shut nothing listens, and it opens again at the same port", async () => {
  await using both = await startBoth();
  const { proxy } = both;
  const { url } = proxy;
  using pair = await connected(both);
  const { client } = pair;
  await proxy.shut();
  await client.closed;
  using refused = new Client(url);
  await refused.closed;
  assert.equal(refused.errorCode, "ECONNREFUSED");
  await proxy.open();
  assert.equal(proxy.url, url);
  using next = new Client(url);
  next.socket.write("b");
  await next.until("B");
});

test("while it refuses, a new connection is reset and an open one goes on", async () => {
  await using both = await startBoth();
  const { echo, proxy } = both;
  using pair = await connected(both);
  const { client } = pair;
  proxy.refuse(true);
  using refused = new Client(proxy.url);
  refused.socket.write("no");
  await refused.closed;
  assert.equal(refused.errorCode, "ECONNRESET");
  assert.equal(echo.sockets.size, 1);
  client.socket.write("b");
  await client.until("AB");
  proxy.refuse(false);
  using next = new Client(proxy.url);
  next.socket.write("c");
  await next.until("C");
});

test("a black hole holds both directions and closes nothing; afterwards everything arrives in order", async () => {
  await using both = await startBoth();
  const { proxy } = both;
  using pair = await connected(both);
  const { client, served } = pair;
  proxy.blackHole(true);
  client.socket.write("b");
  served.write("-told-");
  await sleep(crossingMs);
  assert.equal(client.received, "A");
  assert.equal(client.socket.destroyed, false);
  client.socket.write("c");
  proxy.blackHole(false);
  await client.until("A-told-BC");
});

test("what a black hole holds of a connection that ends is lost", async () => {
  await using both = await startBoth();
  const { proxy } = both;
  using pair = await connected(both);
  const { client, served } = pair;
  let arrived = "";
  served.on("data", (chunk) => (arrived += chunk.toString()));
  proxy.blackHole(true);
  client.socket.write("late");
  await sleep(crossingMs);
  client.socket.destroy();
  await once(served, "close");
  proxy.heal();
  assert.equal(arrived, "");
});

test("a delay holds every piece back both ways; many are under way at once, in order, also when the delay ends", async () => {
  await using both = await startBoth();
  const { proxy } = both;
  using pair = await connected(both);
  const { client } = pair;
  const delayMs = 50;
  proxy.delay(delayMs);
  const start = performance.now();
  const pieces = "bcdefghijklmnopqrstu";
  for (const piece of pieces) {
    client.socket.write(piece);
    await sleep(2);
  }
  const answer = `A${pieces.toUpperCase()}`;
  await client.until(answer);
  const tookMs = performance.now() - start;
  // A timer may fire a millisecond early.
  assert.ok(tookMs >= 2 * delayMs - 2, `${tookMs} ms`);
  // Compares with the time that it would take if one piece waited for the other.
  assert.ok(tookMs < pieces.length * delayMs, `${tookMs} ms`);
  client.socket.write("y");
  await sleep(5);
  proxy.delay(0);
  client.socket.write("z");
  await client.until(`${answer}YZ`);
});

test("bytes under way arrive before the end of their connection does", async () => {
  await using both = await startBoth();
  const { proxy } = both;
  using pair = await connected(both);
  const { client, served } = pair;
  proxy.delay(20);
  served.end("bye");
  await client.closed;
  assert.equal(client.received, "Abye");
});

test("a truncated answer arrives half, once", async () => {
  await using both = await startBoth();
  const { proxy } = both;
  using pair = await connected(both);
  const { client } = pair;
  proxy.truncate();
  client.socket.write("half");
  await client.closed;
  assert.equal(client.received, "AHA");
  using next = new Client(proxy.url);
  next.socket.write("whole");
  await next.until("WHOLE");
});

test("new connections go where they are routed, and come from the address of their origin", async () => {
  await using other = await startEcho();
  const identities = ["agent-a", "agent-b"];
  await using both = await startBoth({
    originOf: () => {
      const identity = identities.shift();
      return Promise.resolve(identity === undefined ? undefined : { address: "127.0.7.1", identity });
    },
  });
  const { echo, proxy } = both;
  using first = new Client(proxy.url);
  first.socket.write("a");
  await first.until("A");
  assert.equal([...echo.sockets][0]?.remoteAddress, "127.0.7.1");
  proxy.route(other.url);
  using second = new Client(proxy.url);
  second.socket.write("b");
  await second.until("B");
  assert.deepEqual([echo.sockets.size, other.sockets.size], [1, 1]);
  proxy.isolate("agent-a");
  first.socket.write("c");
  second.socket.write("d");
  await second.until("BD");
  assert.equal(first.received, "A");
  proxy.isolate(undefined);
  await first.until("AC");
  using nobody = new Client(proxy.url);
  nobody.socket.write("e");
  await nobody.closed;
  assert.equal(nobody.errorCode, "ECONNRESET");
});

test("its end closes everything, also what a black hole holds", async () => {
  await using echo = await startEcho();
  const proxy = await TcpProxy.start(echo.url);
  const { url } = proxy;
  using client = new Client(url);
  client.socket.write("a");
  await client.until("A");
  const [served] = echo.sockets;
  assert.ok(served);
  proxy.blackHole(true);
  client.socket.write("b");
  await sleep(crossingMs);
  const farEnd = once(served, "close");
  await proxy[Symbol.asyncDispose]();
  await Promise.all([client.closed, farEnd]);
  using refused = new Client(url);
  await refused.closed;
  assert.equal(refused.errorCode, "ECONNREFUSED");
});
