/** Named things in instances of services, as applications write and list them with their own clients. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { connect } from "amqplib";
import { MongoClient } from "mongodb";
import type { Credentials } from "../drivers/driver.ts";
import { bucketOf } from "./applications.ts";

/** One service, and what an application does there. */
export interface ServiceData {
  readonly plan: string;
  readonly add: (credentials: Credentials, name: string) => Promise<unknown>;
  readonly remove: (credentials: Credentials, name: string) => Promise<unknown>;
  /** Returns the names in order. */
  readonly names: (credentials: Credentials) => Promise<readonly string[]>;
}

/** Services whose servers end with the broker, by type. */
export const serviceData: Readonly<Record<"mongodb" | "objectstorage" | "messaging", ServiceData>> = {
  mongodb: {
    plan: "mongodbsspl-single-nano",
    add: (credentials, _id) => withThings(credentials, (things) => things.insertOne({ _id })),
    remove: (credentials, _id) => withThings(credentials, (things) => things.deleteOne({ _id })),
    names: (credentials) =>
      withThings(credentials, async (things) =>
        (await things.find({}, { sort: { _id: 1 } }).toArray()).map(({ _id }) => _id),
      ),
  },
  objectstorage: {
    plan: "objectstorage-nano",
    async add(credentials, name) {
      using bucket = bucketOf(credentials);
      await bucket.put(name, name);
    },
    async remove(credentials, name) {
      using bucket = bucketOf(credentials);
      await bucket.remove(name);
    },
    async names(credentials) {
      using bucket = bucketOf(credentials);
      return (await bucket.list()).map((name = "") => name).toSorted();
    },
  },
  messaging: {
    plan: "messaging-single-nano-ssl",
    add: (credentials, name) => withChannel(credentials, (channel) => channel.assertQueue(name)),
    remove: (credentials, name) => withChannel(credentials, (channel) => channel.deleteQueue(name)),
    names: queuesOf,
  },
};

async function withThings<T>(
  { uri }: Credentials,
  work: (things: ReturnType<typeof thingsOf>) => Promise<T>,
): Promise<T> {
  const client = new MongoClient(String(uri), { serverSelectionTimeoutMS: 5_000 });
  try {
    return await work(thingsOf(client));
  } finally {
    await client.close();
  }
}

const thingsOf = (client: MongoClient) => client.db().collection<{ readonly _id: string }>("things");

type Amqp = Awaited<ReturnType<typeof connect>>;

async function withChannel<T>(
  credentials: Credentials,
  work: (channel: Awaited<ReturnType<Amqp["createChannel"]>>) => Promise<T>,
): Promise<T> {
  const { uri, ca } = amqpOf(credentials);
  const connection = await connect(uri.href, { ca: [Buffer.from(ca)] });
  connection.on("error", () => undefined);
  try {
    return await work(await connection.createChannel());
  } finally {
    await connection.close();
  }
}

async function queuesOf(credentials: Credentials): Promise<readonly string[]> {
  const { uri, api, ca } = amqpOf(credentials);
  const auth = `${api.username}:${api.password}`;
  const sent = request(`${api.href}/queues${uri.pathname}?columns=name`, { auth, ca, agent: false }).end();
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  const text = (await answer.toArray()).join("");
  assert.equal(answer.statusCode, 200, text);
  return (JSON.parse(text) as readonly { readonly name: string }[]).map(({ name }) => name).toSorted();
}

function amqpOf({ protocols, http_api_uri: api }: Credentials) {
  const { amqp_ssl: amqp, management } = protocols as {
    readonly amqp_ssl: { readonly uri: string };
    readonly management: { readonly cacrt: string };
  };
  return { uri: new URL(amqp.uri), api: new URL(String(api)), ca: management.cacrt };
}
