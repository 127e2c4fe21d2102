/** Tests of the actions, which run within those of the console, at their cluster and people. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Grant, grantFinalizer, grants, identityAnnotation, membersAnnotation } from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import { clusterRoleBindings, type KubeObject, namespaces } from "@klutch/kube-core";
import { allowPeople, ruleOn, waitFor } from "@klutch/kube-testing";
import type { OfferedAction, Viewer } from "@klutch/overview";
import { TestBrowser } from "../../testing/browser.ts";
import type { DexPerson } from "../../testing/dex.ts";

/** Fields that these tests read of rows, each where it is one of them. */
export interface Row {
  readonly id: string;
  readonly name: string;
  readonly health: string;
  readonly problem: string;
  readonly boundBy: readonly string[];
  readonly about: { readonly id: string };
  readonly who: string;
  readonly reason: string;
  readonly says: string;
  readonly perMonth?: object;
  readonly plans?: readonly object[];
}

/** Fields of answers, each where it is one of them. */
export interface Body extends Viewer {
  readonly error: string;
  readonly message: string;
  readonly state: string;
  readonly rows: readonly Row[];
  readonly upserts?: readonly Row[];
  readonly removed?: readonly string[];
}

/** An answer in JSON. */
export interface Answer {
  readonly status: number;
  readonly body: Body;
}

/** The console's cluster and its people: `operator` sees all and may delete Grants by `deletes-grants`, `developer` is a member of `mine`. */
export interface ActionStage {
  readonly client: KubeClient;
  /** Subjects of the operator's name in RBAC. */
  readonly operator: Parameters<typeof allowPeople>[3];
  readonly logIn: (person: DexPerson) => Promise<TestBrowser>;
  readonly get: (browser: TestBrowser, path: string, init?: RequestInit) => Promise<Answer>;
  readonly idsOf: (browser: TestBrowser, collection: string) => Promise<readonly string[]>;
  /** URL of the backend. */
  readonly base: () => string;
}

/** Adds the tests. */
export function actionTests({ client, operator, logIn, get, idsOf, base }: ActionStage): void {
  const someTime = "2026-11-28T10:00:00Z";
  /** Creates the Grant of a person with markup for a name. */
  const createGrant = async (namespace: string, name: string, more: object = {}): Promise<void> => {
    const [issuer, subject] = ["https://issuer.example", `the-id-of-${name}`];
    const identity = { issuer, subject, user: `oidc:${name}`, ...more };
    await client.create<Grant>(grants, {
      apiVersion: "klutch.anynines.com/v1alpha1",
      kind: "Grant",
      metadata: { namespace, name, finalizers: [grantFinalizer] },
      spec: {
        identity: { ...identity, displayName: "<b>eve</b>" },
        api: { group: "example.org", resource: "databases" },
        template: { namespace: "default", name: "databases" },
        boundAt: someTime,
        way: "confirmed",
      },
    });
  };
  const offersOf = async (
    browser: TestBrowser,
    collection: string,
    row: string,
  ): Promise<readonly OfferedAction[]> => {
    const query = new URLSearchParams({ collection, row }).toString();
    // Not among the answers: a token is sealed as cookies are, and opens nothing without its session.
    const { status, html } = await browser.go(`${base()}/console/api/actions?${query}`);
    assert.equal(status, 200, html);
    return (JSON.parse(html) as { readonly actions: readonly OfferedAction[] }).actions;
  };

  void test("only a person with the right to delete a Grant is offered to revoke it, and all else that asks is refused", async () => {
    for (const [tenant, name] of [
      ["mine", "one"],
      ["mine", "two"],
      ["theirs", "other"],
    ] as const)
      await createGrant(tenant, name);
    const [all, member] = [await logIn("operator"), await logIn("developer")];
    await waitFor("the Grants", async () => (await idsOf(all, "grants")).length === 3);
    assert.deepEqual((await get(all, "api/viewer")).body.actions, ["grants", "members"]);
    // Members see their Grants, and may not delete them by kubectl either; a guessed one of others is not there.
    assert.deepEqual(await offersOf(member, "grants", "mine/one"), []);
    assert.deepEqual(await offersOf(member, "grants", "theirs/other"), []);
    const [offer] = await offersOf(all, "grants", "mine/one");
    assert.match(offer?.title ?? "", /Grant of <b>eve<\/b> for databases\.example\.org in tenant mine$/);
    assert.match(offer?.consequences[0] ?? "", /keeps databases\.example\.org: 1 other Grant names it/);
    const { token = "" } = offer ?? {};
    const row = "mine/one";
    const own = { "sec-fetch-site": "same-origin", "content-type": "application/json" };
    const post = (
      browser: TestBrowser,
      body: unknown,
      headers: Record<string, string> = own,
    ): Promise<Answer> =>
      get(browser, "actions/revoke-grant", { method: "POST", headers, body: JSON.stringify(body) });
    const lies: readonly (readonly [number, Promise<Answer>])[] = [
      [404, get(all, "actions/revoke-grant")],
      [404, get(all, "actions/delete-everything", { method: "POST", headers: own, body: "{}" })],
      [403, post(all, { row, token }, { ...own, "sec-fetch-site": "cross-site" })],
      [
        403,
        post(all, { row, token }, { "content-type": "application/json", origin: "https://evil.example" }),
      ],
      [403, post(all, { row, token }, { "content-type": "application/json" })],
      [400, post(all, { row, token }, { "sec-fetch-site": "same-origin", "content-type": "text/plain" })],
      [400, post(all, { row, token, force: true })],
      [400, post(all, { row: ["mine/one"], token })],
      [400, post(all, "mine/one")],
      [403, post(all, { row: "theirs/other", token })],
      [403, post(all, { row, token: `${token.slice(0, -3)}AAA` })],
      [403, post(all, { row, token: "x" })],
      // A token of another session, also of the same person.
      [403, post(member, { row, token })],
      [403, post(await logIn("operator"), { row, token })],
      [401, post(new TestBrowser(), { row, token })],
    ];
    for (const [index, [status, lie]] of lies.entries()) {
      const answer = await lie;
      assert.equal(answer.status, status, `lie ${index}: ${JSON.stringify(answer.body)}`);
    }
    // A session that ended in between, whose cookie someone kept.
    const [left, kept] = [await logIn("operator"), new TestBrowser()];
    for (const [host, jar] of left.cookies) kept.cookies.set(host, new Map(jar));
    const [open] = await offersOf(left, "grants", row);
    assert.equal((await get(left, "logout", { method: "POST", headers: own })).status, 200);
    assert.equal((await post(kept, { row, token: open?.token })).status, 401);
    const { body } = await post(all, { row, token, force: true });
    assert.match(body.error, /"force": is not a field; it must be row or token/);
    assert.equal((await client.list(grants)).items.length, 3);
  });

  void test("a Grant is revoked once, as it was when it was confirmed, and the Tenant says who did it", async () => {
    const all = await logIn("operator");
    const own = { "sec-fetch-site": "same-origin", "content-type": "application/json" };
    const confirm = async (row: string, { token }: Pick<OfferedAction, "token">): Promise<Answer> => {
      const init = { method: "POST", headers: own, body: JSON.stringify({ row, token }) };
      return get(all, "actions/revoke-grant", init);
    };
    const offerOf = async (row: string): Promise<OfferedAction> => {
      const [offer] = await offersOf(all, "grants", row);
      assert.ok(offer, row);
      return offer;
    };
    const before = await offerOf("mine/one");
    // The person binds again in between.
    await client.mergePatch(
      grants,
      { namespace: "mine", name: "one" },
      { spec: { boundAt: "2026-11-28T12:00:00Z" } },
    );
    const stale = await confirm("mine/one", before);
    assert.equal(stale.status, 409);
    assert.match(stale.body.error, /changed after you opened it/);
    const now = await offerOf("mine/one");
    const twice = await Promise.all([confirm("mine/one", now), confirm("mine/one", now)]);
    assert.deepEqual(
      twice.map(({ status }) => status),
      [200, 200],
    );
    await waitFor(
      "the Grant to go",
      async () => (await client.find(grants, { namespace: "mine", name: "one" })) === undefined,
    );
    assert.match((await confirm("mine/one", now)).body.message, /done already/);
    // A Grant of the same name that was made since is another one.
    await createGrant("mine", "one");
    assert.equal((await confirm("mine/one", now)).status, 409);
    await client.delete(grants, { namespace: "mine", name: "two" });
    const isAlone = async (): Promise<boolean> =>
      (await client.find(grants, { namespace: "mine", name: "two" })) === undefined;
    await waitFor("the other Grant to go", isAlone);
    assert.match((await offerOf("mine/one")).consequences.join(), /last Grant.*credentials.*end/);
    await waitFor("the record", async () => {
      const { body } = await get(all, "api/rows/audit");
      return body.rows.some(
        ({ reason, says }) => reason === "ConsoleAction" && /operator.*revoked/.test(says),
      );
    });
    // The right is taken while the confirmation is open, and the page does not know yet.
    const late = await offerOf("mine/one");
    await client.delete(clusterRoleBindings, { name: "deletes-grants" });
    await waitFor("the right to go", async () => (await confirm("mine/one", late)).status === 403);
    assert.deepEqual(await offersOf(all, "grants", "mine/one"), []);
    assert.notEqual(await client.find(grants, { namespace: "mine", name: "one" }), undefined);
  });

  void test("a member is removed with their Grants by one who may change the tenant, and one who joined at the same moment makes it another question", async () => {
    const [all, member] = [await logIn("operator"), await logIn("developer")];
    const rows = async (): Promise<readonly string[]> => {
      const ids = await idsOf(all, "members");
      return ids.filter((id) => id.startsWith("theirs/"));
    };
    await waitFor("the member", async () => (await rows()).length === 1);
    const [row = ""] = await rows();
    assert.equal(row, "theirs//someone-else");
    await createGrant("theirs", "joined", { subject: "someone-else" });
    await createGrant("theirs", "stranger", { issuer: "https://elsewhere.example" });
    await allowPeople(client, "deletes-grants-again", ruleOn(grants, ["delete"]), operator);
    await waitFor("the right", async () => (await offersOf(all, "grants", "theirs/other")).length === 1);
    assert.deepEqual(await offersOf(all, "members", row), [], "without the right to patch namespaces");
    await allowPeople(client, "patches", ruleOn(namespaces, ["patch"], ["theirs"]), operator);
    const offerOf = async (): Promise<OfferedAction> => {
      const offers = await waitFor("the right", async () => {
        const found = await offersOf(all, "members", row);
        return found.length > 0 ? found : undefined;
      });
      const [offer] = offers;
      assert.ok(offer);
      return offer;
    };
    const own = { "sec-fetch-site": "same-origin", "content-type": "application/json" };
    const confirm = (browser: TestBrowser, { token }: OfferedAction): Promise<Answer> =>
      get(browser, "actions/remove-member", {
        method: "POST",
        headers: own,
        body: JSON.stringify({ row, token }),
      });
    const before = await offerOf();
    assert.match(before.consequences.join(" "), /Their Grant there is revoked. The app cluster keeps all/);
    const joined = JSON.stringify([{ issuer: "https://issuer.example", subject: "late", since: someTime }]);
    const annotations = { [membersAnnotation]: joined };
    await client.mergePatch(namespaces, { name: "theirs" }, { metadata: { annotations } });
    assert.equal((await confirm(all, before)).status, 409);
    const now = await offerOf();
    assert.equal((await confirm(member, now)).status, 403);
    assert.equal((await confirm(all, now)).status, 200);
    assert.match((await confirm(all, now)).body.message, /done already/);
    const { metadata } = await client.get<KubeObject>(namespaces, { name: "theirs" });
    assert.equal(metadata.annotations?.[identityAnnotation], "#abc2");
    assert.equal(metadata.annotations[membersAnnotation], joined);
    await waitFor("the Grant to go", async () => {
      const { items } = await client.list(grants, { namespace: "theirs" });
      return items.map(({ metadata: { name } }) => name).join() === "other,stranger";
    });
  });
}
