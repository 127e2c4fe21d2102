/** Commands to a server of MongoDB's protocol (OP_MSG), on its socket and with a login by SCRAM-SHA-256 (RFC 7677). */
import { createHash, createHmac, pbkdf2Sync, randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { open } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import type { postgres } from "@klutch/data-servers";
import { type BsonDocument, type BsonValue, fromBson, int32, toBson } from "./mongodb-bson.ts";

const headerSize = 16;
const operation = 2013;
const timeoutMs = 20_000;
/** The largest answer and the hardest login that are accepted; FerretDB wants 15,000 rounds. */
const mostBytes = 1024 * 1024;
const mostRounds = 100_000;
const digest = "sha256";

/** The server refused a command. */
export class MongoRefusal extends Error {
  /** Such as 11 for a user that does not exist. */
  readonly code: unknown;

  constructor(command: string, { code, errmsg }: BsonDocument) {
    super(`the server refused ${command}: ${textOf(errmsg)}`);
    this.name = "MongoRefusal";
    this.code = code;
  }
}

/** Runs a command in a database and returns the answer. Throws `MongoRefusal` when the server refuses it. */
export type Command = (database: string, command: BsonDocument) => Promise<BsonDocument>;

/** Runs work with a session of the login, which is in the database `admin`. The server's socket is in `folder`. */
export async function withMongo<T>(
  { folder, socket: name }: { readonly folder: string; readonly socket: string },
  login: postgres.Login,
  work: (command: Command) => Promise<T>,
): Promise<T> {
  // The path of the socket may be longer than the 107 bytes that the kernel takes.
  await using opened = await open(folder);
  const socket = connect(join(`/proc/self/fd/${opened.fd}`, name));
  socket.setTimeout(timeoutMs, () => socket.destroy(new Error("the server did not answer")));
  try {
    await once(socket, "connect");
    const command = commandsOf(socket);
    await authenticate(command, login);
    return await work(command);
  } finally {
    socket.destroy();
  }
}

function commandsOf(socket: Socket): Command {
  const answers = socket[Symbol.asyncIterator]();
  return async (database, command) => {
    // Flags, and the kind of the only section.
    const body = Buffer.concat([int32(0), Buffer.from([0]), toBson({ ...command, $db: database })]);
    const header = [headerSize + body.length, 1, 0, operation].map(int32);
    socket.write(Buffer.concat([...header, body]));
    let answer = Buffer.alloc(0);
    while (answer.length < headerSize || answer.length < sizeOf(answer)) {
      const next = await answers.next();
      const value: unknown = next.value;
      if (!Buffer.isBuffer(value)) throw new Error("the server ended the connection");
      answer = Buffer.concat([answer, value]);
    }
    const document = fromBson(answer.subarray(headerSize + 5));
    if (document["ok"] === 1) return document;
    throw new MongoRefusal(Object.keys(command)[0] ?? "", document);
  };
}

function textOf(value: BsonValue | undefined): string {
  return typeof value === "string" || Buffer.isBuffer(value) ? value.toString() : "";
}

function sizeOf(answer: Buffer): number {
  const size = answer.readInt32LE();
  if (size > headerSize + 5 && size <= mostBytes) return size;
  throw new Error(`the server announced an answer of ${size} bytes`);
}

async function authenticate(command: Command, { username, password }: postgres.Login): Promise<void> {
  const nonce = randomBytes(24).toString("base64");
  const first = `n=${username},r=${nonce}`;
  const begun = await command("admin", {
    saslStart: 1,
    mechanism: "SCRAM-SHA-256",
    payload: Buffer.from(`n,,${first}`),
    options: { skipEmptyExchange: true },
  });
  const challenge = textOf(begun["payload"]);
  const fields = new Map(challenge.split(",").map((field) => [field.slice(0, 1), field.slice(2)]));
  const [both = "", salt = "", rounds = ""] = ["r", "s", "i"].map((name) => fields.get(name));
  if (!both.startsWith(nonce)) throw new Error("the server answered another login");
  if (!(Number(rounds) >= 1 && Number(rounds) <= mostRounds))
    throw new Error(`the server wants ${rounds} rounds of hashing, but at most ${mostRounds} are made`);
  const salted = pbkdf2Sync(password, Buffer.from(salt, "base64"), Number(rounds), 32, digest);
  const final = `c=biws,r=${both}`;
  const signed = [first, challenge, final].join(",");
  const clientKey = hmac(salted, "Client Key");
  const mask = hmac(createHash(digest).update(clientKey).digest(), signed);
  const proof = clientKey.map((byte, index) => byte ^ (mask[index] ?? 0));
  const ended = await command("admin", {
    saslContinue: 1,
    conversationId: Number(begun["conversationId"]),
    payload: Buffer.from(`${final},p=${Buffer.from(proof).toString("base64")}`),
  });
  const expected = Buffer.from(`v=${hmac(hmac(salted, "Server Key"), signed).toString("base64")}`);
  const given = Buffer.from(textOf(ended["payload"]));
  if (given.length !== expected.length || !timingSafeEqual(given, expected))
    throw new Error("the server does not know the password of its login");
}

function hmac(key: Buffer, of: string): Buffer {
  return createHmac(digest, key).update(of).digest();
}
