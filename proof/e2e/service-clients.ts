/** Applications of services: each uses its service with what the Secret of a binding says, and nothing else. */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { connect as connectTls } from "node:tls";
import { connect as connectAmqp } from "amqplib";
import { MongoClient } from "mongodb";
import { type Bucket, bucketOf, login, sql } from "@klutch/broker/testing";

/** Entries of the Secret. */
export type Entries = Readonly<Record<string, string>>;

/** An application with a thing that it wrote to its service. Each call connects again, and throws the server's words. */
export interface Application {
  write(): Promise<void>;
  /** Returns true if the thing is there. */
  has(): Promise<boolean>;
  destroy(): Promise<void>;
}

/** Keeps a row. */
export function mariadbApplication(secret: Entries): Application {
  return {
    write: async () =>
      void (await sql(secret, "create table things (text text); insert into things values ('kept')")),
    has: async () => (await sql(secret, "show tables")).includes("things"),
    destroy: async () => void (await sql(secret, "drop table things")),
  };
}

/** Keeps a key. */
export function keyvalueApplication(secret: Entries): Application {
  const use = async (...words: readonly string[]): Promise<unknown> => {
    using connection = await login(secret);
    return await connection.send(...words);
  };
  return {
    write: async () => void (await use("SET", "thing", "kept")),
    has: async () => (await use("GET", "thing")) === "kept",
    destroy: async () => void (await use("DEL", "thing")),
  };
}

/** Keeps an object. */
export function objectstorageApplication(secret: Entries): Application {
  const use = async <T>(work: (bucket: Bucket) => Promise<T>): Promise<T> => {
    using bucket = bucketOf(secret);
    return await work(bucket);
  };
  return {
    write: () => use(async ({ put }) => void (await put("thing", "kept"))),
    has: () => use(async ({ list }) => (await list()).includes("thing")),
    destroy: () => use(async ({ remove }) => void (await remove("thing"))),
  };
}

/** Reads the series of a target that the instance scrapes. Only the server writes them. */
export function prometheusApplication(secret: Entries): Application {
  const [url = ""] = urlsIn(secret["prometheus_urls"]);
  const authorization = `Basic ${btoa(`${secret["username"]}:${secret["password"]}`)}`;
  return {
    write: () => Promise.resolve(),
    async has() {
      const answer = await fetch(`${url}/api/v1/query?query=orders_total`, { headers: { authorization } });
      if (answer.status !== 200) throw new Error(`HTTP ${answer.status}`);
      return (await answer.text()).includes('"42"');
    },
    destroy: () => Promise.reject(new Error("an application cannot remove series")),
  };
}

/** Keeps a document. */
export function mongodbApplication({ uri = "" }: Entries): Application {
  const use = async <T>(
    work: (things: ReturnType<ReturnType<MongoClient["db"]>["collection"]>) => Promise<T>,
  ): Promise<T> => {
    const client = new MongoClient(uri, { serverSelectionTimeoutMS: 5_000 });
    try {
      await client.connect();
      return await work(client.db().collection("things"));
    } finally {
      await client.close();
    }
  };
  return {
    write: () => use(async (things) => void (await things.insertOne({ text: "kept" }))),
    has: () => use(async (things) => (await things.findOne({ text: "kept" })) !== null),
    destroy: () => use(async (things) => void (await things.deleteMany({}))),
  };
}

/** Keeps a queue; backups of the service have queues, and no messages. */
export function messagingApplication(secret: Entries): Application {
  const ca = [Buffer.from(secret["protocols.management.cacrt"] ?? "")];
  const use = async <T>(
    work: (connection: Awaited<ReturnType<typeof connectAmqp>>) => Promise<T>,
  ): Promise<T> => {
    const connection = await connectAmqp(secret["protocols.amqp_ssl.uri"] ?? "", { ca });
    // A channel that the server closes ends its call, too.
    connection.on("error", () => undefined);
    try {
      return await work(connection);
    } finally {
      await connection.close().catch(() => undefined);
    }
  };
  return {
    write: () =>
      use(async (connection) => {
        const channel = await connection.createConfirmChannel();
        await channel.assertQueue("orders");
        channel.sendToQueue("orders", Buffer.from("kept"));
        await channel.waitForConfirms();
        const message = await channel.get("orders", { noAck: true });
        if (message === false || message.content.toString() !== "kept") throw new Error("no message came");
      }),
    has: () =>
      use(async (connection) => {
        const channel = await connection.createChannel();
        channel.on("error", () => undefined);
        return await channel.checkQueue("orders").then(
          () => true,
          (error: unknown) => {
            if (String(error).includes("404")) return false;
            throw error;
          },
        );
      }),
    destroy: () =>
      use(async (connection) => {
        const channel = await connection.createChannel();
        await channel.deleteQueue("orders");
      }),
  };
}

/** Keeps a document of an index. */
export function searchApplication(secret: Entries): Application {
  return {
    async write() {
      await askOpensearch(secret, "PUT", "/orders/_doc/1?refresh=true", { text: "kept" });
    },
    has: () => finds(secret, "/orders/_search?ignore_unavailable=true&q=text:kept"),
    async destroy() {
      await askOpensearch(secret, "DELETE", "/orders");
    },
  };
}

/** Sends a message by syslog, and looks for it in the indices. */
export function logme2Application(secret: Entries): Application {
  return {
    async write() {
      const { hostname: host, port } = new URL(secret["syslog_drain_url"] ?? "");
      const socket = connectTls({ host, port: Number(port), ca: secret["cacrt"] });
      await once(socket, "secureConnect");
      socket.end("<13>1 - shop cart - - - kept\n");
      await once(socket, "close");
    },
    has: () => finds(secret, "/logs-*/_search?q=message:kept"),
    async destroy() {
      await askOpensearch(secret, "DELETE", "/logs-*");
    },
  };
}

async function finds(secret: Entries, path: string): Promise<boolean> {
  return (await askOpensearch(secret, "GET", path)).includes('"kept"');
}

async function askOpensearch(secret: Entries, method: string, path: string, body?: object): Promise<string> {
  const [url = ""] = urlsIn(secret["host"]);
  const sent = request(`${url}${path}`, {
    method,
    auth: `${secret["username"]}:${secret["password"]}`,
    ca: secret["cacrt"],
    headers: { "content-type": "application/json" },
    agent: false,
  }).end(body === undefined ? undefined : JSON.stringify(body));
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  const text = (await answer.toArray()).join("");
  if ((answer.statusCode ?? 0) >= 300) throw new Error(`HTTP ${answer.statusCode}: ${text.slice(0, 200)}`);
  return text;
}

/** The Secret prints a list in brackets. */
function urlsIn(text = ""): readonly string[] {
  return text.match(/https?:\/\/[^\s,\]"]+/g) ?? [];
}
