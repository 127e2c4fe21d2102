import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { connect, createServer } from "node:tls";
import { ensureCertificates } from "./crossplane/runtime.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-certificates-"));
after(() => rm(folder, { recursive: true, force: true }));
const folders = await ensureCertificates(folder, new Date());
const read = (from: string, name: string): Promise<string> => readFile(join(from, name), "utf8");

test("the function's server and Crossplane's client trust each other, and clients without a certificate are refused", async (t) => {
  const { functionServer, crossplaneClient } = folders;
  const ca = await read(functionServer, "ca.crt");
  const server = createServer(
    {
      key: await read(functionServer, "tls.key"),
      cert: await read(functionServer, "tls.crt"),
      ca,
      requestCert: true,
      rejectUnauthorized: true,
      minVersion: "TLSv1.3",
    },
    (socket) => socket.end("welcome"),
  ).listen(0, "127.0.0.1");
  t.after(() => server.close());
  server.on("tlsClientError", () => undefined);
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const answer = async (socket: Socket): Promise<string> => {
    const chunks: string[] = [];
    for await (const chunk of socket) chunks.push(String(chunk));
    return chunks.join("");
  };
  const key = await read(crossplaneClient, "tls.key");
  const cert = await read(crossplaneClient, "tls.crt");
  for (const servername of ["localhost", undefined]) {
    const target = { host: "127.0.0.1", port, ca, ...(servername === undefined ? {} : { servername }) };
    assert.equal(await answer(connect({ ...target, key, cert })), "welcome");
    await assert.rejects(answer(connect(target)), /certificate required|ECONNRESET/i);
  }
  // A client's certificate is not good for a server.
  await assert.rejects(
    answer(connect({ host: "127.0.0.1", port, ca: await read(functionServer, "tls.crt"), key, cert })),
  );
});

test("a later start takes the same certificates, and keys are readable for their owner only", async () => {
  const before = await read(folders.functionServer, "tls.crt");
  await ensureCertificates(folder, new Date());
  assert.equal(await read(folders.functionServer, "tls.crt"), before);
  const { functionServer, crossplaneClient } = folders;
  for (const name of [functionServer, crossplaneClient])
    assert.equal((await stat(join(name, "tls.key"))).mode & 0o777, 0o600);
});
