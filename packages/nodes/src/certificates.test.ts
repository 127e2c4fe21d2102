import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { test } from "node:test";
import { createAuthority } from "./certificates.ts";

const now = new Date("2026-01-01T00:00:00Z");
const authority = await createAuthority("test", now);
const certificate = new X509Certificate(authority.certificate);

test("a client's certificate names user and group, and is for clients only", async () => {
  const { certificate: pem, key } = await authority.issue({
    kind: "client",
    user: "system:node:node",
    group: "system:nodes",
  });
  const client = new X509Certificate(pem);
  assert.equal(client.subject, "O=system:nodes\nCN=system:node:node");
  assert.deepEqual(client.keyUsage, ["1.3.6.1.5.5.7.3.2"]);
  assert.ok(client.verify(certificate.publicKey) && !client.ca && certificate.ca);
  assert.ok(client.checkPrivateKey(createPrivateKey(key.reveal())));
});

test("a server's certificate is for its names and addresses", async () => {
  const { certificate: pem } = await authority.issue({
    kind: "server",
    name: "kube-apiserver",
    dns: ["kubernetes.default"],
    ips: ["10.213.0.2"],
  });
  const server = new X509Certificate(pem);
  assert.equal(server.checkHost("kubernetes.default"), "kubernetes.default");
  assert.equal(server.checkIP("10.213.0.2"), "10.213.0.2");
  assert.equal(server.checkIP("10.213.0.3"), undefined);
  assert.deepEqual(server.keyUsage, ["1.3.6.1.5.5.7.3.1"]);
});
