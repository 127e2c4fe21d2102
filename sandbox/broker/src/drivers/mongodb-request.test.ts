/** Answers of a server that is not the broker's. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type BsonDocument, fromBson, int32, toBson } from "./mongodb-bson.ts";
import { withMongo } from "./mongodb-request.ts";

const message = (document: BsonDocument): Buffer => {
  const body = Buffer.concat([int32(0), Buffer.from([0]), toBson(document)]);
  return Buffer.concat([[16 + body.length, 1, 1, 2013].map(int32), body].flat());
};

/** Logs in at a server that answers each command in turn. */
async function askedOf(answers: readonly ((asked: BsonDocument) => Buffer)[]): Promise<unknown> {
  const folder = await mkdtemp(join(tmpdir(), "klutch-mongo-"));
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    const left = [...answers];
    socket.on("error", () => undefined);
    socket.on("data", (bytes) => {
      assert.ok(typeof bytes !== "string");
      const answer = left.shift();
      if (answer === undefined) socket.destroy();
      else socket.write(answer(fromBson(bytes.subarray(21))));
    });
  });
  server.listen(join(folder, "socket"));
  await once(server, "listening");
  try {
    const login = { username: "klutch", password: "secret" };
    return await withMongo({ folder, socket: "socket" }, login, (command) => command("admin", { ping: 1 }));
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
    await rm(folder, { recursive: true });
  }
}

/** Answers the beginning of a login. */
const begun =
  (rounds: string, change: (nonce: string) => string = (nonce) => nonce) =>
  ({ payload }: BsonDocument): Buffer => {
    assert.ok(Buffer.isBuffer(payload));
    const nonce = /r=(.*)$/.exec(payload.toString())?.[1] ?? "";
    const text = `r=${change(nonce)}more,s=${btoa("salt")},i=${rounds}`;
    return message({ ok: 1, conversationId: 1, payload: Buffer.from(text) });
  };

test("a server that does not know the password is found out, although it accepts the login", async () => {
  const accepted = message({ ok: 1, done: true, payload: Buffer.from(`v=${btoa("x".repeat(32))}`) });
  await assert.rejects(askedOf([begun("4096"), () => accepted]), /does not know the password of its login/);
});

test("an answer to another login, or one that costs too much, is refused", async () => {
  await assert.rejects(askedOf([begun("4096", () => "other")]), /answered another login/);
  for (const rounds of ["2000000000", "0", "many"])
    await assert.rejects(askedOf([begun(rounds)]), new RegExp(`wants ${rounds} rounds of hashing`));
});

test("a refusal names the command and no password; a size that is a lie ends the request", async () => {
  const refusal = message({ ok: 0, code: 18, errmsg: "Authentication failed" });
  await assert.rejects(askedOf([() => refusal]), {
    name: "MongoRefusal",
    code: 18,
    message: "the server refused saslStart: Authentication failed",
  });
  for (const size of [-1, 0, 2_000_000_000])
    await assert.rejects(
      askedOf([() => Buffer.concat([int32(size), Buffer.alloc(12)])]),
      new RegExp(`announced an answer of ${size} bytes`),
    );
  await assert.rejects(askedOf([]), /ended the connection|ECONNRESET/);
});

test("documents come back as they were, without values that no caller reads, and damaged ones are refused", () => {
  const document = { a: "grüße", b: 42, c: true, d: { e: ["x", false] }, f: Buffer.from([1, 2]) };
  const lists = { ...document, d: { e: { 0: "x", 1: false } } };
  assert.deepEqual(fromBson(toBson(document)), lists);
  const withTime = Buffer.concat([int32(0), Buffer.from([9, 116, 0]), Buffer.alloc(8), Buffer.from([0])]);
  assert.deepEqual(fromBson(withTime), {});
  const whole = toBson(document);
  for (const size of [5, 10, whole.length - 1]) assert.throws(() => fromBson(whole.subarray(0, size)));
  assert.throws(() => fromBson(Buffer.concat([int32(0), Buffer.from([99, 97, 0, 0])])), /unknown type 99/);
});
