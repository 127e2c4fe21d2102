import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import { TLSSocket } from "node:tls";
import { type TestContext, test } from "node:test";
import type { TlsSettings } from "@klutch/http-client";
import { createOsbClient } from "./client.ts";
import { mayHaveLeftOrphan } from "./errors.ts";
import { type Certificates, makeCertificates } from "./testing/certificates.ts";
import { json } from "./testing/fake-broker.ts";

const plan = { instanceId: "i", serviceId: "s", planId: "p", organizationGuid: "o", spaceGuid: "sp" };
const certificates: Certificates = await makeCertificates(new Date());
const { ca, client } = certificates;

/** A broker that lets in only who shows a certificate of our authority. */
async function guardedBroker(t: TestContext): Promise<{ readonly url: string; readonly peers: string[] }> {
  const peers: string[] = [];
  const options = { ...certificates.server, ca, requestCert: true, rejectUnauthorized: true };
  const server = createServer(options, (request, response) => {
    const { subject } =
      request.socket instanceof TLSSocket ? request.socket.getPeerCertificate() : { subject: { CN: "" } };
    peers.push(String(subject.CN));
    json(200, { services: [] })(request, response);
  });
  server.on("tlsClientError", () => undefined);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return { url: `https://127.0.0.1:${address.port}`, peers };
}

test("a client certificate opens a broker that wants one", async (t) => {
  const { url, peers } = await guardedBroker(t);
  await using osb = createOsbClient({ url, tls: { ca, ...client }, timeoutMs: 5_000 });
  assert.deepEqual(await osb.catalog(), { services: [] });
  assert.deepEqual(peers, ["client"]);
});

test("a client certificate goes along with other credentials", async (t) => {
  const { url, peers } = await guardedBroker(t);
  const auth = { kind: "bearer", token: "t" } as const;
  await using osb = createOsbClient({ url, auth, tls: { ca, ...client }, timeoutMs: 5_000 });
  await osb.catalog();
  assert.deepEqual(peers, ["client"]);
});

test("without a certificate, or with one of a stranger, nothing reaches the broker", async (t) => {
  const { url, peers } = await guardedBroker(t);
  const stranger = await makeCertificates(new Date());
  const settings: readonly TlsSettings[] = [{ ca }, { ca, ...stranger.client }];
  for (const tls of settings) {
    await using osb = createOsbClient({ url, tls, timeoutMs: 5_000 });
    await assert.rejects(osb.provision(plan), { name: "OsbTransportError" });
  }
  assert.deepEqual(peers, []);
});

test("a broker of a stranger's authority is a TLS error, which leaves no orphan and does not name the key", async (t) => {
  const { url, peers } = await guardedBroker(t);
  await using osb = createOsbClient({ url, tls: { ...client }, timeoutMs: 5_000 });
  await assert.rejects(osb.provision(plan), (error) => {
    assert.ok(error instanceof Error && "code" in error);
    assert.equal(error.code, "Tls");
    assert.match(
      error.message,
      /TLS connection to the broker \(\w+\); check the authority that is trusted \(ca\)/,
    );
    assert.ok(!mayHaveLeftOrphan(error));
    assert.doesNotMatch(JSON.stringify(error) + String(error), /PRIVATE KEY/);
    return true;
  });
  assert.deepEqual(peers, []);
});

test("a certificate without its key is refused before anything is sent", () => {
  for (const tls of [{ cert: client.cert }, { key: client.key }])
    assert.throws(() => createOsbClient({ url: "https://b", tls }), {
      code: "NotSent",
      message: "a client certificate needs both tls.cert and tls.key",
    });
});
