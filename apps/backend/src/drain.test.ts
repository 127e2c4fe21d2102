/** Real sockets; only time is virtual. */
import assert from "node:assert/strict";
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { test } from "node:test";
import { VirtualClock, waitFor } from "@klutch/kube-testing";
import { drainable } from "./drain.ts";

/** A server whose requests wait until the test answers them. */
class Fixture implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly waiting: ServerResponse[] = [];
  readonly agent = new Agent({ keepAlive: true });
  readonly #server = createServer((_request, response) => void this.waiting.push(response));
  readonly drain: () => Promise<void> = drainable(this.#server, this.clock);
  port = 0;

  static async start(): Promise<Fixture> {
    const fixture = new Fixture();
    await new Promise<void>((resolve) => fixture.#server.listen(0, "127.0.0.1", resolve));
    const address = fixture.#server.address();
    fixture.port = typeof address === "object" && address !== null ? address.port : 0;
    return fixture;
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
  await using fixture = await Fixture.start();
  const answer = fixture.ask();
  await fixture.untilAsked(1);
  const drained = fixture.drain();
  await fixture.clock.advance(5_000);
  assert.equal(await fixture.isRefused(), true);
  fixture.waiting[0]?.end("ok");
  assert.deepEqual(await answer, [200, "close"]);
  await drained;
});

test("an idle connection takes one more request, whose answer says that it ends", async () => {
  await using fixture = await Fixture.start();
  const first = fixture.ask();
  await fixture.untilAsked(1);
  fixture.waiting[0]?.end("ok");
  assert.deepEqual(await first, [200, "keep-alive"]);
  const drained = fixture.drain();
  const second = fixture.ask();
  await fixture.untilAsked(2);
  fixture.waiting[1]?.end("ok");
  assert.deepEqual(await second, [200, "close"]);
  await fixture.clock.advance(5_000);
  await drained;
});

test("without a connection it ends at once, and idle ones end after a while", async () => {
  await using silent = await Fixture.start();
  await silent.drain();
  await using fixture = await Fixture.start();
  const answer = fixture.ask();
  await fixture.untilAsked(1);
  fixture.waiting[0]?.end("ok");
  await answer;
  const drained = fixture.drain();
  await fixture.clock.advance(5_000);
  await drained;
});

test("an answer that does not come is waited for as long as the Pod has, and no longer", async () => {
  await using fixture = await Fixture.start();
  const answer = fixture.ask();
  await fixture.untilAsked(1);
  const drained = fixture.drain();
  await fixture.clock.advance(19_999);
  assert.equal(fixture.waiting[0]?.destroyed, false);
  const cut = assert.rejects(answer, /socket hang up/);
  await fixture.clock.advance(1);
  await cut;
  await drained;
});
