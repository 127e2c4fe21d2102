import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createSecureServer, type ServerHttp2Stream } from "node:http2";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { namespaces } from "@klutch/kube-core";
import { leaseCluster, waitFor } from "@klutch/kube-testing";
import { createKubeClient } from "./client.ts";

test("a connection may break after the answer to an aborted request came late", async () => {
  // A server of our own with a real one's certificate, because the abort must fall between a request and its answer.
  await using cluster = await leaseCluster({ name: "late" });
  const certificate = (file: string): Promise<Buffer> => readFile(join(cluster.dataDir, "certs", file));
  const [cert, key] = await Promise.all([certificate("apiserver.crt"), certificate("apiserver.key")]);
  const server = createSecureServer({ cert, key });
  const abort = new AbortController();
  const streams: unknown[] = [];
  server.on("stream", (stream: ServerHttp2Stream) => {
    streams.push(stream.on("error", () => undefined));
    abort.abort(new Error("not needed any more"));
    stream.respond({ ":status": 200 });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const config = { ...cluster.config, server: `https://127.0.0.1:${address.port}` };
  const another = createKubeClient(config, { userAgent: "test", flowControl: false });
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  process.on("uncaughtException", onError);
  try {
    // The second one leaves when the first is aborted, just before it is aborted, too.
    const watches = [1, 2].map(() => Array.fromAsync(another.watch(namespaces, { signal: abort.signal })));
    await Promise.allSettled(watches);
    await waitFor("both requests", () => streams.length === 2);
    await sleep(20);
    await another[Symbol.asyncDispose]();
    await sleep(20);
  } finally {
    process.off("uncaughtException", onError);
    server.close();
  }
  assert.deepEqual(errors, []);
});
