import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { test } from "node:test";
import { Secret } from "@klutch/telemetry";
import { authorityFrom, createAuthority } from "./authority.ts";

const validity = { now: new Date("2026-01-01T00:00:00Z"), days: 365 };
const authority = await createAuthority("test", validity);
const certificate = new X509Certificate(authority.certificate);

test("a client's certificate names user and group, and is for clients only", async () => {
  const user = { use: "client", name: "system:node:node", organization: "system:nodes" } as const;
  const { certificate: pem, key } = await authority.issue(user, validity);
  const client = new X509Certificate(pem);
  assert.equal(client.subject, "O=system:nodes\nCN=system:node:node");
  assert.deepEqual(client.keyUsage, ["1.3.6.1.5.5.7.3.2"]);
  assert.equal(client.subjectAltName, undefined);
  assert.ok(client.verify(certificate.publicKey) && !client.ca && certificate.ca);
  assert.ok(client.checkPrivateKey(createPrivateKey(key.reveal())));
});

test("a server's certificate is for its names and addresses, from the day before and for the given number of days", async () => {
  const hosts = ["kubernetes.default", "10.213.0.2", "fd00::2"];
  const { certificate: pem } = await authority.issue({ use: "server", name: "api", hosts }, validity);
  const server = new X509Certificate(pem);
  assert.equal(server.checkHost("kubernetes.default"), "kubernetes.default");
  assert.equal(server.checkIP("10.213.0.2"), "10.213.0.2");
  assert.equal(server.checkIP("fd00::2"), "fd00::2");
  assert.equal(server.checkIP("10.213.0.3"), undefined);
  assert.deepEqual(server.keyUsage, ["1.3.6.1.5.5.7.3.1"]);
  assert.deepEqual(
    [server.validFromDate, server.validToDate],
    [new Date("2025-12-31T00:00:00Z"), new Date("2027-01-01T00:00:00Z")],
  );
});

test("special characters in a name stay part of the name", async () => {
  const { certificate: pem } = await authority.issue(
    { use: "client", name: "a, O=system:masters" },
    validity,
  );
  assert.equal(new X509Certificate(pem).toLegacyObject().subject.CN, "a, O=system:masters");
  assert.equal(new X509Certificate(pem).toLegacyObject().subject.O, undefined);
});

test("an authority that is opened again issues what the first one's certificate vouches for", async () => {
  const again = await authorityFrom(authority);
  const { certificate: pem } = await again.issue({ use: "server", name: "server" }, validity);
  assert.ok(new X509Certificate(pem).verify(certificate.publicKey));
  assert.equal(again.certificate, authority.certificate);
  await assert.rejects(authorityFrom({ ...authority, key: new Secret("nothing") }), /damaged/);
});
