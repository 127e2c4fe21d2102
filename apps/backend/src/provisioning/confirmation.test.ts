import assert from "node:assert/strict";
import { test } from "node:test";
import { confirmationText, newAnswerKey, newClusterKey, openOffer, publicKeyOf, signText } from "@klutch/api";
import { systemClock } from "@klutch/kube";
import { Secret } from "@klutch/telemetry";
import { UserError } from "../errors.ts";
import { createSealer } from "../sealed-cookie.ts";
import { createConfirmation } from "./confirmation.ts";
import { usedProofsAnnotation, withProof } from "./used-proofs.ts";

const keys = { signing: new Secret(Buffer.alloc(32, 5)), encryption: undefined };
const challenges = createSealer("renewal", keys);
const pem = newClusterKey();
const key = await newAnswerKey();

test("a confirmation is valid for a minute, by the backend's own clock", async () => {
  let now = systemClock.now();
  const made: string[] = [];
  const url = "https://backend.example.org/confirm";
  const confirmation = createConfirmation({
    requireAllowed: () => Promise.resolve(),
    tenantFor: () => ({ name: "cluster-one", relation: "joins" }),
    respond: ({ subject }) => {
      made.push(subject);
      return Promise.reject(new UserError(409, "made", ""));
    },
    tickets: createSealer("ticket", keys),
    challenges,
    url,
    clock: { ...systemClock, now: () => now },
  });
  const session = {
    sessionId: "s",
    clusterId: "c",
    redirectUrl: "http://localhost:1/callback",
    answerKey: key.publicKey,
    offeredKey: publicKeyOf(pem) ?? "",
    issuer: "https://idp.example.org",
    subject: "jane\nhttps://evil.example",
  };
  const sealed = await confirmation.offer(session, [{ resource: "databases", group: "example.org" }]);
  const { ticket, nonce } = await openOffer(key, sealed);
  const challenge = await challenges.seal({ issuedAt: String(now), nonce: "n" }, 600);
  const signature = signText(pem, confirmationText({ ...session, url, challenge, nonce }));
  now += 61_000;
  await assert.rejects(confirmation.complete({ ticket, challenge, signature }), /older than a minute/);
  now -= 2_000;
  await assert.rejects(confirmation.complete({ ticket, challenge, signature }), /made/);
  assert.deepEqual(made, [session.subject]);
});

const anna = { issuer: "https://idp.example.org", subject: "anna" };

test("a tenant remembers proofs for longer than they are valid, and a person cannot use up what the others need", () => {
  let tenant: { metadata: { annotations: Record<string, string> } } = { metadata: { annotations: {} } };
  const use = (id: string, now: number, subject = "anna"): void => {
    tenant = { metadata: { annotations: { ...withProof(tenant, { id }, { ...anna, subject }, now) } } };
  };
  for (let index = 0; index < 40; index++) use(`proof-${index}`, index * 1_000);
  assert.throws(() => use("proof-0", 600_000, "ben"), /used already/);
  assert.throws(() => use("another", 600_000), /Too many logins/);
  for (let index = 0; index < 160; index++) use(`other-${index}`, 600_000, `person-${index}`);
  assert.throws(() => use("another", 600_000, "ben"), /Too many logins/);
  const size = tenant.metadata.annotations[usedProofsAnnotation]?.length ?? 0;
  assert.ok(size > 0 && size < 20_000, `${size}`);
  use("another", 660_000);
  assert.throws(() => use("another", 660_000, "ben"), /used already/);
});

test("a list of proofs that is none counts as empty", () => {
  for (const text of ["", "no JSON", "{}", '[1,{"id":2}]']) {
    const tenant = { metadata: { annotations: { [usedProofsAnnotation]: text } } };
    const written: unknown = JSON.parse(withProof(tenant, { id: "a" }, anna, 5)[usedProofsAnnotation] ?? "");
    assert.ok(Array.isArray(written) && written.length === 1);
  }
});
