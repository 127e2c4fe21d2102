/** Clients of services as applications use them, by the credentials of a binding alone. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { Agent } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import * as s3 from "@aws-sdk/client-s3";
import { resolveDebian } from "@klutch/engines";
import { waitFor } from "@klutch/kube-testing";
import { connectRedis } from "../drivers/keyvalue.ts";

/** Credentials as an application reads them: every value is text. */
export function textsOf(credentials: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(credentials).flatMap(([key, value]) =>
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? Object.entries(value).map(([inner, each]) => [`${key}.${inner}`, String(each)] as const)
        : [[key, String(value)] as const],
    ),
  );
}

const mariadb = await resolveDebian("mariadb");

/** Runs SQL as an application does, by TLS, with MariaDB's own client. Throws with the server's words. */
export async function sql(
  credentials: Readonly<Record<string, unknown>>,
  statements: string,
  options: { readonly tls?: boolean } = {},
): Promise<readonly string[]> {
  const { host = "", port = "", username = "", password = "", name = "", cacrt = "" } = textsOf(credentials);
  await using folder = await mkdtempDisposable(join(tmpdir(), "klutch-mariadb-client-"));
  const authority = join(folder.path, "ca.crt");
  await writeFile(authority, cacrt);
  const tls = options.tls === false ? ["--skip-ssl"] : [`--ssl-ca=${authority}`, "--ssl-verify-server-cert"];
  const connection = ["--protocol=tcp", `--host=${host}`, `--port=${port}`, `--user=${username}`, ...tls];
  const child = spawn(
    mariadb.path("mariadb"),
    ["--no-defaults", ...connection, "--batch", "--skip-column-names", name],
    {
      env: { ...mariadb.env, PATH: "/usr/bin:/bin", MYSQL_PWD: password },
    },
  );
  child.stdin.on("error", () => undefined);
  child.stdin.end(statements);
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (child.exitCode === null) await once(child, "exit");
  if (child.exitCode !== 0) throw new Error(errors.trim());
  return output.split("\n").slice(0, -1);
}

/** A connection to a key-value store, as an application makes it. */
export async function login(credentials: Readonly<Record<string, unknown>>): Promise<
  {
    readonly send: (...words: readonly string[]) => Promise<unknown>;
    readonly ended: Promise<unknown>;
  } & Disposable
> {
  const texts = textsOf(credentials);
  const place = { host: texts["host"] ?? "", port: Number(texts["valkey.port"]), ca: texts["cacrt"] ?? "" };
  const login = { username: texts["valkey.username"] ?? "", password: texts["valkey.password"] ?? "" };
  const connection = await connectRedis({ ...place, tls: true }, login);
  return {
    send: (...words) => connection.send(...words),
    get ended() {
      return waitFor("the end of the connection", () => connection.hasEnded);
    },
    [Symbol.dispose]: () => connection[Symbol.dispose](),
  };
}

/** A bucket as an application uses it, with Amazon's client. Each call throws the client's error. */
export interface Bucket extends Disposable {
  readonly client: s3.S3Client;
  readonly Bucket: string;
  readonly put: (Key: string, Body: string | Buffer) => Promise<unknown>;
  /** `from`: another bucket. Default: that of the binding. */
  readonly get: (Key: string, from?: string) => Promise<string | undefined>;
  readonly list: (from?: string) => Promise<readonly (string | undefined)[]>;
  readonly remove: (Key: string) => Promise<unknown>;
}

/** Returns the bucket of a binding. `endpoint`: another way to its server. */
export function bucketOf(
  credentials: Readonly<Record<string, unknown>>,
  options: { readonly endpoint?: string } = {},
): Bucket {
  const {
    endpoint = "",
    region = "",
    accessKey = "",
    secretKey = "",
    bucket: Bucket = "",
    cacrt = "",
  } = textsOf(credentials);
  const client = new s3.S3Client({
    endpoint: options.endpoint ?? endpoint,
    region,
    credentials: { accessKeyId: accessKey, secretAccessKey: secretKey },
    forcePathStyle: true,
    maxAttempts: 1,
    requestHandler: { httpsAgent: new Agent({ ca: cacrt }) },
  });
  return {
    client,
    Bucket,
    put: (Key: string, Body: string | Buffer) => client.send(new s3.PutObjectCommand({ Bucket, Key, Body })),
    get: async (Key: string, from = Bucket) =>
      (await client.send(new s3.GetObjectCommand({ Bucket: from, Key }))).Body?.transformToString(),
    list: async (from = Bucket) =>
      (await client.send(new s3.ListObjectsV2Command({ Bucket: from }))).Contents?.map(({ Key }) => Key) ??
      [],
    remove: (Key: string) => client.send(new s3.DeleteObjectCommand({ Bucket, Key })),
    [Symbol.dispose]: () => client.destroy(),
  };
}
