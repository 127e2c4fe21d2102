import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttp1, request as sendHttp1 } from "node:http";
import { connect, createServer as createHttp2 } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import { test } from "node:test";
import { announcedBytes, type Answer, type ServerRequest } from "./exchange.ts";

const unknown = 99;

/** Answers each request with the length that it announces. */
function answer(request: ServerRequest, response: Answer): void {
  const text = String(announcedBytes(request, unknown));
  request.resume();
  // The two kinds of answers have the same methods, whose overloads do not unite.
  if ("stream" in response) response.end(text);
  else response.end(text);
}

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

async function textOf(stream: AsyncIterable<unknown>): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  return text;
}

/** Sends a request over HTTP/1.1. `body`: absent for none. */
async function overHttp1(
  port: number,
  method: string,
  headers: Readonly<Record<string, string | number>>,
  body?: string,
): Promise<string> {
  const sent = sendHttp1({ port, host: "127.0.0.1", method, headers, agent: false });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [AsyncIterable<unknown>];
  return await textOf(response);
}

test("a request announces its body over HTTP/1.1 by its length or its coding", async () => {
  const server = createHttp1(answer);
  const port = await listening(server);
  try {
    assert.equal(await overHttp1(port, "GET", {}), "0");
    assert.equal(await overHttp1(port, "DELETE", {}), "0");
    assert.equal(await overHttp1(port, "POST", { "content-length": 3 }, "abc"), "3");
    for (const method of ["POST", "GET"])
      assert.equal(await overHttp1(port, method, { "transfer-encoding": "chunked" }, "abc"), String(unknown));
  } finally {
    server.close();
  }
});

test("a request announces its body over HTTP/2 by its length, or by not ending with its headers", async () => {
  const server = createHttp2(answer);
  const session = connect(`http://127.0.0.1:${await listening(server)}`);
  const send = async (method: string, body?: string, length?: number): Promise<string> => {
    const more = length === undefined ? {} : { "content-length": length };
    const stream = session.request({ ":method": method, ...more }, { endStream: body === undefined });
    if (body !== undefined) stream.end(body);
    return await textOf(stream);
  };
  try {
    assert.equal(await send("GET"), "0");
    assert.equal(await send("DELETE"), "0");
    assert.equal(await send("POST", "abc", 3), "3");
    assert.equal(await send("POST", "abc"), String(unknown));
    assert.equal(await send("GET", "abc"), String(unknown));
  } finally {
    session.close();
    server.close();
  }
});
