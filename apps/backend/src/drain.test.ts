/** Real sockets; only time is virtual. */
import assert from "node:assert/strict";
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { test } from "node:test";
import { VirtualClock, waitFor } from "@klutch/kube-testing";
import { drainable } from "./drain.ts";

/** A server whose requests wait until the test answers them. */
class World implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly waiting: ServerResponse[] = [];
  readonly agent = new Agent({ keepAlive: true });
  readonly #server = createServer((_request, response) => void this.waiting.push(response));
  readonly drain: () => Promise<void> = drainable(this.#server, this.clock);
  port = 0;

  static async start(): Promise<World> {
    const world = new World();
    await new Promise<void>((resolve) => world.#server.listen(0, "127.0.0.1", resolve));
    const address = world.#server.address();
    world.port = typeof address === "object" && address !== null ? address.port : 0;
    return world;
  }

  /** Resolves to status and header `connection`. */
  ask(): Promise<readonly [number | undefined, string | undefined]> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const { port, agent } = this;
    request({ host: "127.0.0.1", port, agent }, resolve).on("error", reject).end();
    return promise.then((message) => {
      message.resume();
      return [message.statusCode, message.headers.connection];
    });
  }

  async untilAsked(count: number): Promise<void> {
    await waitFor("the request", () => this.waiting.length === count);
  }

  async isRefused(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const socket = connect(this.port, "127.0.0.1", () => resolve(false));
    socket.on("error", () => resolve(true));
    const refused = await promise;
    socket.destroy();
    return refused;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.agent.destroy();
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

test("a waiting request gets its answer, on a connection that ends with it, and no new one is accepted after a while", async () => {
  await using world = await World.start();
  const answer = world.ask();
  await world.untilAsked(1);
  const drained = world.drain();
  await world.clock.advance(2_000);
  assert.equal(await world.isRefused(), true);
  world.waiting[0]?.end("ok");
  assert.deepEqual(await answer, [200, "close"]);
  await drained;
});

test("an idle connection takes one more request, whose answer says that it ends", async () => {
  await using world = await World.start();
  const first = world.ask();
  await world.untilAsked(1);
  world.waiting[0]?.end("ok");
  assert.deepEqual(await first, [200, "keep-alive"]);
  const drained = world.drain();
  const second = world.ask();
  await world.untilAsked(2);
  world.waiting[1]?.end("ok");
  assert.deepEqual(await second, [200, "close"]);
  await world.clock.advance(2_000);
  await drained;
});

test("without a connection it ends at once, and idle ones end after a while", async () => {
  await using silent = await World.start();
  await silent.drain();
  await using world = await World.start();
  const answer = world.ask();
  await world.untilAsked(1);
  world.waiting[0]?.end("ok");
  await answer;
  const drained = world.drain();
  await world.clock.advance(2_000);
  await drained;
});

test("an answer that does not come is waited for as long as the Pod has, and no longer", async () => {
  await using world = await World.start();
  const answer = world.ask();
  await world.untilAsked(1);
  const drained = world.drain();
  await world.clock.advance(16_999);
  assert.equal(world.waiting[0]?.destroyed, false);
  const cut = assert.rejects(answer, /socket hang up/);
  await world.clock.advance(1);
  await cut;
  await drained;
});
