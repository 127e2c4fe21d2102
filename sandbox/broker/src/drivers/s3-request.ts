/** Signed requests of the broker to an S3 server at its socket (AWS Signature Version 4). Applications use their own clients. */
import { createHash, createHmac } from "node:crypto";
import { send, shortPath } from "./server-request.ts";

/** A server, and the account that signs. */
export interface S3Account {
  /** Folder that holds the socket. */
  readonly folder: string;
  readonly socket: string;
  /** Certificate (PEM) that the server's certificate is held against. */
  readonly authority: string;
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

/** One request; its path and query need no encoding beyond that of a query's values. */
export interface S3Call {
  readonly method: "GET" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
}

/** The server refused a request. */
export class S3Refusal extends Error {
  readonly code: string;

  constructor(code: string, call: S3Call, status: number) {
    super(`the object storage server answered ${status} ${code} to ${call.method} ${call.path}`);
    this.name = "S3Refusal";
    this.code = code;
  }
}

/** Name in the server's certificate; the socket has none. */
const host = "localhost";
const service = "s3";
const algorithm = "AWS4-HMAC-SHA256";
const timeoutMs = 20_000;

/** Sends the request and returns the body of its answer. Throws `S3Refusal` when the server refuses it. */
export async function callS3(account: S3Account, call: S3Call, now: Date): Promise<string> {
  await using socket = await shortPath(account.folder, account.socket);
  const options = {
    socketPath: socket.path,
    servername: host,
    ca: account.authority,
    method: call.method,
    path: pathOf(call),
    headers: signedHeaders(account, call, now),
    signal: AbortSignal.timeout(timeoutMs),
  };
  const { status, body } = await send(options, call.body);
  if (status >= 200 && status < 300) return body;
  throw new S3Refusal(/<Code>(\w+)<\/Code>/.exec(body)?.[1] ?? "", call, status);
}

/** Returns the headers of a request, with its signature. */
export function signedHeaders(
  { region, accessKey, secretKey }: Pick<S3Account, "region" | "accessKey" | "secretKey">,
  call: S3Call,
  now: Date,
): Readonly<Record<string, string>> {
  const time = now.toISOString().replace(/[-:]|\.\d{3}/g, "");
  const scope = [time.slice(0, 8), region, service, "aws4_request"];
  const headers = { host, "x-amz-content-sha256": digest(call.body ?? ""), "x-amz-date": time };
  const names = Object.keys(headers).join(";");
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
  const canonical = [call.method, call.path, queryOf(call), lines.join(""), names, digest(call.body ?? "")];
  const toSign = [algorithm, time, scope.join("/"), digest(canonical.join("\n"))].join("\n");
  const key = scope.reduce<string | Buffer>((before, part) => hmac(before, part), `AWS4${secretKey}`);
  const signature = hmac(key, toSign).toString("hex");
  const credential = [accessKey, ...scope].join("/");
  const authorization = `${algorithm} Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...headers, authorization, "content-length": String(Buffer.byteLength(call.body ?? "")) };
}

function pathOf(call: S3Call): string {
  const query = queryOf(call);
  return query === "" ? call.path : `${call.path}?${query}`;
}

/** Returns the query in the order and encoding that are signed. */
function queryOf({ query = {} }: S3Call): string {
  return Object.entries(query)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .toSorted()
    .join("&");
}

function digest(of: string): string {
  return createHash("sha256").update(of).digest("hex");
}

function hmac(key: string | Buffer, of: string): Buffer {
  return createHmac("sha256", key).update(of).digest();
}
