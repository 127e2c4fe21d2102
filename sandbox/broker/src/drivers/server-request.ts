/** Reaches servers that the broker runs: by HTTPS, and by their sockets. */
import { open } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request, type RequestOptions } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { readIfThere } from "@klutch/data-servers";
import { adminUser, type Place } from "./driver.ts";

/** Opens a path to a socket in a folder, for the kernel takes 107 bytes and the folder's own path may be longer. It leads there until it is disposed. */
export async function shortPath(
  folder: string,
  socket: string,
): Promise<{ readonly path: string } & AsyncDisposable> {
  const opened = await open(folder);
  return {
    path: join(`/proc/self/fd/${opened.fd}`, socket),
    [Symbol.asyncDispose]: () => opened.close(),
  };
}

/** Sends one request on a connection of its own, and reads the whole answer. */
export async function send(
  options: RequestOptions,
  body?: string,
): Promise<{ readonly status: number; readonly body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request({ ...options, agent: false })
    .on("response", resolve)
    .on("error", reject)
    .end(body);
  const answer = await promise;
  return { status: answer.statusCode ?? 0, body: await text(answer) };
}

/** A request of the broker's own account. */
export interface AdminRequest {
  /** Name of the server in messages. */
  readonly server: string;
  readonly host: string;
  readonly port: number;
  readonly method: string;
  readonly path: string;
  /** A text is sent as lines of JSON. */
  readonly body?: string | object | undefined;
  readonly signal: AbortSignal;
}

/** Returns the body of the answer. Throws when the server refuses; 404 is accepted for DELETE. */
export async function askAsAdmin({ adminPassword, tls }: Place, asked: AdminRequest): Promise<string> {
  const { server, method, path, body, ...where } = asked;
  const options = {
    ...where,
    method,
    path,
    // The certificate is that of the address at which applications reach the server.
    checkServerIdentity: () => undefined,
    ca: await readIfThere(tls.authority),
    auth: `${adminUser}:${adminPassword}`,
    headers: { "content-type": typeof body === "string" ? "application/x-ndjson" : "application/json" },
  };
  const answer = await send(options, typeof body === "object" ? JSON.stringify(body) : body);
  const isDone = answer.status >= 200 && answer.status < 300;
  if (isDone || (answer.status === 404 && method === "DELETE")) return answer.body;
  throw new Error(`${server} answered ${answer.status} to ${method} ${path}: ${answer.body.slice(0, 200)}`);
}
