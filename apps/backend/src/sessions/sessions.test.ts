/** Sessions whose other side lies: forged, changed, expired, of another backend, replayed after the logout, or of another person. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  clusterProofText,
  decodeSessionTemplates,
  type IssuedSession,
  newAnswerKey,
  newClusterKey,
  openSession,
  openSessionOffer,
  publicKeyOf,
  sessionPrefix,
  signText,
} from "@klutch/api";
import { systemClock } from "@klutch/kube";
import { Secret } from "@klutch/telemetry";
import { UserError } from "../errors.ts";
import { createSealer } from "../sealed-cookie.ts";
import {
  ann,
  bearer,
  endedInMemory,
  issued,
  key,
  logIn,
  mallory,
  offerTo,
  post,
  type Said,
  said,
  type Stage,
  stage,
} from "../testing/session-stage.ts";
import { withEntry } from "./ended-sessions.ts";

const list = (at: Stage, session: string): Promise<Said> =>
  said(at.app.request("/api/templates", { headers: bearer(session) }));
const apis = [{ group: "anynines.com", resource: "postgresqlinstances" }];
const bind = (at: Stage, session: string, more: object = { apis }): Promise<Said> =>
  said(at.app.request("/bind-noninteractive", post({ clusterID: "abc", ...more }, session)));

test("a person's session lists the APIs that they may bind, with services, fields and state, and says when it ends", async () => {
  const at = stage();
  const { session, endsAt, id, loginId, subject } = await logIn(at);
  assert.deepEqual([loginId, subject], ["login1", "ann"]);
  assert.match(id, /^[\w-]{43}$/);
  const answer = await at.app.request("/api/templates", { headers: bearer(session) });
  assert.equal(answer.headers.get("cache-control"), "no-store");
  const { templates, endsAt: alsoEndsAt } = decodeSessionTemplates(await answer.json());
  assert.equal(alsoEndsAt, endsAt);
  assert.ok(Math.abs(Date.parse(endsAt) - systemClock.now() - 3_600_000) < 60_000);
  const found = templates.find(({ resource }) => resource === "postgresqlinstances");
  assert.deepEqual([found?.state, found?.services], ["Available", ["postgresql"]]);
  const queues = templates.find(({ resource }) => resource === "queues");
  assert.deepEqual([queues?.state, queues?.reason], ["Unavailable", "no kind"]);
});

test("the stated end is true: a minute before it the session counts, and after it no more", async () => {
  const at = stage({ lifetimeSeconds: 600 });
  const { session, endsAt } = await logIn(at);
  at.pass(540);
  assert.equal((await list(at, session)).status, 200);
  at.pass(61);
  const over = await list(at, session);
  assert.deepEqual([over.status, over.error], [401, `Your session ended at ${endsAt}.`]);
  assert.equal((await bind(at, session)).status, 401);
  assert.deepEqual(at.bound, []);
});

test("a forged, changed, foreign or empty session is refused with 401 and words, also where programs bind", async () => {
  const at = stage();
  const { session } = await logIn(at);
  const foreign = await logIn(stage({ keys: 8 }));
  const body = session.slice(sessionPrefix.length);
  const ticketAsSession = sessionPrefix + (await offerTo(at, ann)).ticket;
  const parts = body.split(".");
  const changed = [
    ...parts.slice(0, 4),
    parts[4]?.startsWith("A") === true ? `B${parts[4].slice(1)}` : `A${parts[4]?.slice(1)}`,
  ];
  const lies = [
    foreign.session,
    sessionPrefix + changed.join("."),
    ticketAsSession,
    `${sessionPrefix}a.b.c.d.e`,
    `${sessionPrefix}e30.e30.`,
    sessionPrefix,
    sessionPrefix + "a".repeat(9_000),
  ];
  for (const lie of lies) {
    for (const answer of [await list(at, lie), await bind(at, lie)])
      assert.deepEqual(
        answer,
        { status: 401, error: "The session was not issued by this backend, or it was changed." },
        lie.slice(0, 60),
      );
  }
  const bare = await list(at, body);
  assert.equal(bare.status, 401);
  // Without the prefix it is an access token, and none that counts.
  assert.deepEqual(await bind(at, body), { status: 401, error: "The access token is not accepted." });
  assert.equal((await said(at.app.request("/api/templates"))).error, "The request has no session.");
  assert.deepEqual(at.bound, []);
});

test("after the logout no replica takes the session, and the ticket brings back nothing that counts", async () => {
  const ended = endedInMemory();
  const [one, other] = [stage({ ended }), stage({ ended })];
  const offer = await offerTo(one, ann);
  const { session, id } = await issued(one, offer);
  assert.equal((await list(other, session)).status, 200);
  const answer = await other.app.request("/logout", post({}, session));
  assert.deepEqual(await answer.json(), {
    message: "The session has ended.",
    endSessionUrl: "https://idp.example.org/logout?client_id=klutch",
  });
  const again = await issued(one, offer);
  assert.equal(again.id, id);
  for (const replica of [one, other])
    for (const text of [session, again.session]) {
      assert.equal((await list(replica, text)).error, "Your session was ended by a logout.");
      assert.equal((await bind(replica, text)).status, 401);
    }
  // Another session of the same person goes on.
  assert.equal((await list(one, (await logIn(one)).session)).status, 200);
  assert.deepEqual(
    other.audited.map(({ decision, allowed, outcome, asker }) => [decision, allowed, outcome, asker?.user]),
    [["logout", true, "SessionEnded", "oidc:ann"]],
  );
});

test("while the control plane does not say which sessions ended, none counts", async () => {
  const away = (): Promise<never> => Promise.reject(new UserError(503, "It does not say.", "Wait."));
  const at = stage({ ended: { has: away, end: away, endAll: away } });
  const { session } = await logIn(at);
  for (const answer of [await list(at, session), await bind(at, session)]) assert.equal(answer.status, 503);
  assert.deepEqual(at.bound, []);
});

test("a right that was withdrawn after the login ends what the session can do", async () => {
  let may = true;
  const at = stage({ mayBind: ({ subject }) => may && subject === "ann" });
  const { session } = await logIn(at);
  assert.equal((await list(at, session)).status, 200);
  may = false;
  assert.deepEqual(await list(at, session), {
    status: 403,
    error: "There is no API that you may bind here.",
  });
  const refused = await bind(at, session, { wish: "service=postgresql" });
  assert.equal(refused.status, 403);
  assert.match(refused.error, /Service postgresql is not among those that you may bind/);
  assert.deepEqual(
    at.audited
      .filter(({ decision }) => decision === "bind")
      .map(({ allowed, asker }) => [allowed, asker?.way]),
    [[false, "session"]],
  );
});

test("a session binds as its person, with a way and an address, and nothing of the session gets into the record", async () => {
  const at = stage();
  const { session, id } = await logIn(at, mallory);
  assert.equal(
    (await bind(at, session, { wish: "apis=postgresqlinstances", clusterName: "prod" })).status,
    200,
  );
  const [bound] = at.bound;
  assert.deepEqual(
    [
      bound?.subject,
      bound?.user,
      bound?.groups,
      bound?.way,
      bound?.address,
      bound?.sessionId,
      bound?.clusterName,
    ],
    ["mallory", "oidc:mallory", ["oidc:team-a"], "session", "192.0.2.7", id, "prod"],
  );
  assert.deepEqual([bound?.client, bound?.clusterKey], [undefined, undefined]);
  assert.ok(!JSON.stringify([at.lines, at.audited, at.bound]).includes(session.slice(sessionPrefix.length)));
});

async function proofFor({ id }: IssuedSession, pem: string): Promise<{ readonly publicKey: string }> {
  const sealer = createSealer("renewal", { signing: new Secret(Buffer.alloc(32, 7)), encryption: undefined });
  const challenge = await sealer.seal({ nonce: "n1" }, 600);
  const login = { sessionId: id, clusterId: "abc" };
  const text = clusterProofText("https://klutch.example.org/renew", login, challenge);
  const proof = { publicKey: publicKeyOf(pem) ?? "", challenge, signature: signText(pem, text) };
  return proof;
}

test("a session alone, or with another key, opens no tenant whose app cluster has a key", async () => {
  const [pem, other] = [newClusterKey(), newClusterKey()];
  const at = stage({ keysOfTenant: [publicKeyOf(pem) ?? ""] });
  const own = await logIn(at);
  const words = "A session opens tenant cluster-one only with the key of its app cluster.";
  for (const more of [{}, { proof: await proofFor(own, other) }])
    assert.deepEqual(await bind(at, own.session, { apis, ...more }), { status: 403, error: words });
  assert.deepEqual(at.bound, []);
  assert.equal(at.audited.at(-1)?.outcome, "NotSigned");
  assert.equal((await bind(at, own.session, { apis, proof: await proofFor(own, pem) })).status, 200);
  // Where logins must be confirmed, a session without a proof founds no tenant either.
  const strict = stage({ requireProof: true });
  const ours = await logIn(strict);
  assert.match((await bind(strict, ours.session)).error, /only with a proof of the app cluster's key/);
  assert.equal((await bind(strict, ours.session, { apis, proof: await proofFor(ours, pem) })).status, 200);
});

test("a proof of the app cluster's key counts for the session that it names only", async () => {
  const at = stage();
  const [own, stolen] = [await logIn(at), await logIn(at, mallory)];
  const proof = await proofFor(own, newClusterKey());
  const { publicKey } = proof;
  assert.deepEqual(await bind(at, stolen.session, { apis, proof }), {
    status: 400,
    error: "The proof that you hold this app cluster does not belong to this login.",
  });
  assert.equal((await bind(at, own.session, { apis, proof })).status, 200);
  assert.deepEqual(
    at.bound.map(({ clusterKey, proof: used }) => [clusterKey, used]),
    [[publicKey, { id: "n1", confirms: false }]],
  );
});

test("a body that is wrong is refused by field, value and rule", async () => {
  const at = stage();
  const { session } = await logIn(at);
  for (const [body, words] of [
    [{ wish: "1" }, /^wish: names no API; it must be all, service=/],
    [{ wish: "drop table" }, /^m: is "drop table"; it must be 1, all/],
    [{ wish: "all", clusterID: " " }, /^clusterID: is blank, but must be 1 to 64 letters/],
    [{ apis: [] }, /^apis: has 0 entries, but must have 1 to 100/],
    [{ apis, proof: "mine" }, /^proof: is not an object/],
    [{ apis, proof: { publicKey: "x" } }, /^proof\.publicKey: is not an Ed25519 public key/],
  ] as const) {
    const { status, error } = await bind(at, session, body);
    assert.equal(status, 400);
    assert.match(error, words);
  }
});

test("a ticket of another backend, a late one and a session in its place bring no session", async () => {
  const at = stage();
  const { ticket } = await offerTo(stage({ keys: 8 }), ann);
  const { session } = await logIn(at);
  for (const lie of [ticket, session, "x"]) {
    const { status, error } = await said(at.app.request("/session", post({ ticket: lie })));
    assert.equal(status, 400);
    assert.match(error, /The ticket was not made at this backend/);
  }
  assert.match((await said(at.app.request("/session", post({})))).error, /^ticket: is missing/);
  const late = await offerTo(at, ann);
  at.pass(3_601);
  assert.equal((await said(at.app.request("/session", post({ ticket: late.ticket })))).status, 401);
});

test("an offer and a session open for the key of the login only", async () => {
  const at = stage();
  const other = await newAnswerKey();
  const login = { loginId: "login1", answerKey: key.publicKey };
  const sealed = await at.sessions.offer(ann, login);
  await assert.rejects(openSessionOffer(other, sealed), /was not sealed for this login/);
  const { ticket } = await openSessionOffer(key, sealed);
  const answer = await at.sessions.issue(ticket);
  await assert.rejects(openSession(other, answer), /was not sealed for this login/);
  await assert.rejects(openSessionOffer(key, answer), /was not sealed for this login/);
});

test("ended sessions are forgotten after their time, and one person cannot fill the list", () => {
  const now = 1_000_000;
  const entry = (by: string, id: string, until = now + 1_000): Parameters<typeof withEntry>[1] => ({
    by,
    id,
    until,
  });
  const old = [entry("ann", "a", now - 1), entry("bob", "b")];
  assert.deepEqual(withEntry(old, entry("ann", "c"), now), [entry("bob", "b"), entry("ann", "c")]);
  assert.equal(withEntry(old, entry("bob", "b"), now), undefined, "twice is once");
  assert.equal(
    withEntry(old, entry("ann", "d", now), now),
    undefined,
    "a session that is over needs no entry",
  );
  const many = ["1", "2", "3", "4", "5"].map((id) => entry("ann", id));
  const all = withEntry([...many, entry("bob", "b")], entry("ann", "6", now + 9), now);
  assert.deepEqual(all, [entry("bob", "b"), { by: "ann", before: now, until: now + 1_000 }]);
  // A later end of one session keeps the earlier end of all.
  assert.equal(withEntry(all ?? [], entry("ann", "7"), now)?.length, 3);
  // A logout at the identity provider that arrives late brings back no session that ended singly after it.
  const late = { by: "ann", before: now - 500, until: now + 2_000 };
  const one = entry("ann", "8");
  assert.deepEqual(withEntry([one, entry("bob", "b")], late, now), [one, entry("bob", "b"), late]);
  assert.deepEqual(withEntry([one, late], { ...late, before: now - 100 }, now), [
    one,
    { ...late, before: now - 100 },
  ]);
  const full = Array.from({ length: 2_000 }, (_, index) => entry(`person-${index}`, "x"));
  assert.throws(() => withEntry(full, entry("one more", "y"), now), /Too many sessions were ended/);
});
