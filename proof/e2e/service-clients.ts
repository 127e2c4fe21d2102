/** Applications of services: each uses its service with what the Secret of a binding says, and nothing else. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { promisify } from "node:util";
import * as s3 from "@aws-sdk/client-s3";
import { createClient } from "@redis/client";
import { connect as connectAmqp } from "amqplib";
import { MongoClient } from "mongodb";
import { resolveDebian } from "@klutch/engines";

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
      void (await mariadb(secret, "create table things (text text); insert into things values ('kept')")),
    has: async () => (await mariadb(secret, "show tables")) === "things\n",
    destroy: async () => void (await mariadb(secret, "drop table things")),
  };
}

/** Runs SQL with MariaDB's own client. */
async function mariadb(secret: Entries, statements: string): Promise<string> {
  const { host = "", port = "", username = "", password = "", name = "", cacrt = "" } = secret;
  const program = await resolveDebian("mariadb");
  const folder = await mkdtemp(join(tmpdir(), "klutch-mariadb-client-"));
  try {
    const authority = join(folder, "ca.crt");
    await writeFile(authority, cacrt);
    const server = [
      `--host=${host}`,
      `--port=${port}`,
      "--protocol=tcp",
      `--ssl-ca=${authority}`,
      "--ssl-verify-server-cert",
    ];
    const { stdout } = await promisify(execFile)(
      program.path("mariadb"),
      [
        "--no-defaults",
        ...server,
        `--user=${username}`,
        "--skip-column-names",
        `--execute=${statements}`,
        name,
      ],
      { env: { ...program.env, PATH: "/usr/bin:/bin", MYSQL_PWD: password } },
    );
    return stdout;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Keeps a key. */
export function keyvalueApplication(secret: Entries): Application {
  const { host = "", cacrt = "" } = secret;
  const use = async (...words: string[]): Promise<unknown> => {
    const client = createClient({
      username: secret["valkey.username"] ?? "",
      password: secret["valkey.password"] ?? "",
      socket: { host, port: Number(secret["valkey.port"]), tls: true, ca: cacrt, reconnectStrategy: false },
    });
    // Its command fails with the same error.
    client.on("error", () => undefined);
    await client.connect();
    try {
      return await client.sendCommand(words);
    } finally {
      client.destroy();
    }
  };
  return {
    write: async () => void (await use("SET", "thing", "kept")),
    has: async () => (await use("GET", "thing")) === "kept",
    destroy: async () => void (await use("DEL", "thing")),
  };
}

/** Keeps an object. */
export function objectstorageApplication(secret: Entries): Application {
  const {
    accessKey = "",
    bucket: Bucket = "",
    cacrt = "",
    endpoint = "",
    region = "",
    secretKey = "",
  } = secret;
  const use = async <T>(work: (client: s3.S3Client) => Promise<T>): Promise<T> => {
    const client = new s3.S3Client({
      endpoint,
      region,
      credentials: { accessKeyId: accessKey, secretAccessKey: secretKey },
      forcePathStyle: true,
      maxAttempts: 1,
      requestHandler: { httpsAgent: new Agent({ ca: cacrt }) },
    });
    try {
      return await work(client);
    } finally {
      client.destroy();
    }
  };
  return {
    write: () =>
      use(
        async (client) =>
          void (await client.send(new s3.PutObjectCommand({ Bucket, Key: "thing", Body: "kept" }))),
      ),
    has: () =>
      use(async (client) => {
        const { Contents = [] } = await client.send(new s3.ListObjectsV2Command({ Bucket }));
        return Contents.some(({ Key }) => Key === "thing");
      }),
    destroy: () =>
      use(async (client) => void (await client.send(new s3.DeleteObjectCommand({ Bucket, Key: "thing" })))),
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
