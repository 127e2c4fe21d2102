import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type Landed, TestBrowser } from "../testing/browser.ts";
import { startIdentityProvider } from "../testing/identity-provider.ts";
import { sampleResponse, startLoginFixture } from "../testing/login-fixture.ts";
import { mariadb, postgresql, serviceOffer, widgets } from "../testing/service-offers.ts";

const many = Array.from({ length: 51 }, (_, at) =>
  serviceOffer(`Thing${at}`, undefined, { group: "many.example" }),
);
const fixture = await startLoginFixture({
  issuer: startIdentityProvider,
  offers: [
    ...postgresql,
    mariadb,
    widgets,
    ...many,
    serviceOffer("Gone", undefined, { group: "example.org" }),
    serviceOffer("Evil", { kind: "own", type: `"><i>`, title: "<b>title</b>" }, { description: "<script>" }),
  ],
  unavailable: [
    {
      group: "example.org",
      resource: "gones",
      reason: "<u>no CRD</u>",
      template: { namespace: "a", name: "b" },
    },
  ],
});
after(() => fixture[Symbol.asyncDispose]());

async function logIn(m: string | undefined, browser = new TestBrowser()): Promise<Landed> {
  const query = new URLSearchParams({ s: "s1", c: "c1", p: "4321", ...(m === undefined ? {} : { m }) });
  const form = await browser.go(`${fixture.url}/authorize?${query.toString()}`);
  return browser.submit(form, 'name="password"', { login: "someone", password: "x" });
}

/** Boxes of the page that are ticked. */
const ticked = ({ html }: Landed): readonly string[] =>
  [...html.matchAll(/<input type="checkbox"[^>]* value="([^"]*)" checked/g)].map(([, value = ""]) => value);

/** Sends the page's form as a browser does: ticked boxes only, plus `more`. */
async function send(
  browser: TestBrowser,
  page: Landed,
  path: string,
  more: readonly (readonly [string, string])[],
): Promise<Landed> {
  const value = (name: string): string =>
    new RegExp(`name="${name}" value="([^"]*)"`).exec(page.html)?.[1] ?? "";
  const fields = new URLSearchParams([
    ["s", value("s")],
    ["csrf", value("csrf")],
  ]);
  for (const [name, text] of more) fields.append(name, text);
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const url = `${fixture.url}${path}`;
  return browser.go(url, { method: "POST", body: fields.toString(), headers }, "http://localhost:4321");
}

const four = postgresql.map(({ resource, group }) => `${resource}.${group}`);
const boundSince = (count: number): readonly string[] =>
  fixture.bound.slice(count).map(({ resource, group }) => `${resource}.${group}`);

test("the plugin's wish is selected, and one button binds it with one login", async () => {
  const browser = new TestBrowser();
  const page = await logIn("service=postgresql", browser);
  assert.deepEqual(ticked(page).toSorted(), four.toSorted());
  assert.equal([...page.html.matchAll(/<button type="submit">Bind<\/button>/g)].length, 1);
  const before = fixture.bound.length;
  const answer = await send(
    browser,
    page,
    "/bind",
    ticked(page).map((name) => ["api", name]),
  );
  assert.equal(answer.status, 303, answer.html);
  assert.equal(answer.url.searchParams.get("response"), sampleResponse);
  assert.deepEqual(boundSince(before).toSorted(), four.toSorted());
});

test("a plugin without the parameter gets one API of a login, whatever its form says", async () => {
  const browser = new TestBrowser();
  const page = await logIn(undefined, browser);
  assert.doesNotMatch(page.html, /checkbox/);
  assert.match(page.html, /Bind PostgresqlInstance/);
  const before = fixture.bound.length;
  await send(browser, page, "/bind", [
    ["resource", "backups"],
    ["group", "anynines.com"],
    ["api", "widgets.example.org"],
    ["service", "postgresql.anynines.com"],
  ]);
  assert.deepEqual(boundSince(before), ["backups.anynines.com"]);
});

test("a whole service is one box, and an API that is named twice is bound once", async () => {
  const browser = new TestBrowser();
  const page = await logIn("1", browser);
  assert.deepEqual(ticked(page), []);
  assert.match(
    page.html,
    /All of PostgreSQL: <span class="soft">PostgresqlInstance, Backup, Restore, ServiceBinding</,
  );
  const before = fixture.bound.length;
  await send(browser, page, "/bind", [
    ["api", "backups.anynines.com"],
    ["api", "backups.anynines.com"],
    ["service", "postgresql.anynines.com"],
  ]);
  assert.deepEqual(boundSince(before).toSorted(), four.toSorted());
});

test("a search shows what matches and keeps what was selected", async () => {
  const browser = new TestBrowser();
  const page = await logIn("1", browser);
  const found = await send(browser, page, "/resources", [
    ["q", " MARIA "],
    ["api", "widgets.example.org"],
  ]);
  assert.equal(found.status, 200);
  const boxes = [...found.html.matchAll(/name="api" value="([^"]*)"/g)].map(([, name]) => name);
  assert.deepEqual(boxes, [
    "mariadbinstances.anynines.com",
    // What the service shares with others is found by its name, too.
    "backups.anynines.com",
    "restores.anynines.com",
    "servicebindings.anynines.com",
    "widgets.example.org",
  ]);
  assert.deepEqual(ticked(found), ["widgets.example.org"]);
  assert.match(found.html, /5 APIs match “MARIA” or are selected/);
  const whole = await send(browser, found, "/resources", [
    ["q", "nothing-like-it"],
    ["service", "postgresql.anynines.com"],
  ]);
  assert.deepEqual(
    ticked(whole)
      .filter((name) => four.includes(name))
      .toSorted(),
    four.toSorted(),
  );
  const none = await send(browser, found, "/resources", [["q", `<b>${"x".repeat(500)}`]]);
  assert.match(none.html, /Nothing matches “&lt;b&gt;x{97}”/);
  assert.equal((await send(new TestBrowser(), page, "/resources", [["q", "x"]])).status, 401);
});

test("an API that is not available now is shown with its reason, and cannot be selected", async () => {
  const page = await logIn("apis=gones,backups");
  assert.match(
    page.html,
    /Not available now.*<code>gones\.example\.org<\/code>: &lt;u&gt;no CRD&lt;\/u&gt;\./s,
  );
  assert.match(page.html, /gones\.example\.org is not available now/);
  assert.doesNotMatch(page.html, /value="gones/);
  assert.deepEqual(ticked(page), ["backups.anynines.com"]);
});

test("markup in names of a template stays text", async () => {
  const page = await logIn("1");
  assert.match(page.html, /<legend><h2>&lt;b&gt;title&lt;\/b&gt;<\/h2><\/legend>/);
  assert.doesNotMatch(page.html, /<script|<b>title|"><i>/);
  assert.doesNotMatch(page.html, /style=/);
});

for (const [what, fields, status, words] of [
  ["no API", [], 400, /role="status"><p>You selected no API\. Select at least one API\./],
  [
    "51 APIs",
    many.map(({ resource, group }) => ["api", `${resource}.${group}`]),
    400,
    /You selected 51 APIs, and one login binds at most 50/,
  ],
  ["10,000 names", Array.from({ length: 10_000 }, () => ["api", "a.b"]), 413, /64 KiB/],
  ["an API without a group", [["api", "backups"]], 400, /&quot;backups&quot; is not an API/],
  ["markup", [["api", "<script>.x"]], 400, /&quot;&lt;script&gt;\.x&quot; is not an API/],
  [
    "an unknown service",
    [["service", "kafka.anynines.com"]],
    404,
    /Service kafka\.anynines\.com is not offered here/,
  ],
  [
    "names that fill a ticket",
    Array.from({ length: 30 }, (_, at) => [
      "api",
      `a${at}.${"b".repeat(60)}.${"c".repeat(60)}.${"d".repeat(60)}`,
    ]),
    400,
    /too long for one login/,
  ],
] as const) {
  test(`a form with ${what} binds nothing and says what would be right`, async () => {
    const browser = new TestBrowser();
    const page = await logIn("1", browser);
    const before = fixture.bound.length;
    const refused = await send(browser, page, "/bind", fields as readonly (readonly [string, string])[]);
    assert.equal(refused.status, status);
    assert.match(refused.html, words);
    if (what === "51 APIs") assert.equal(ticked(refused).length, 51, "the selection is kept");
    assert.equal(fixture.bound.length, before);
  });
}

test("a form of another session binds nothing", async () => {
  const browser = new TestBrowser();
  const page = await logIn("1", browser);
  const before = fixture.bound.length;
  const forged = {
    ...page,
    html: page.html.replace(/name="csrf" value="[^"]*"/, 'name="csrf" value="guess"'),
  };
  assert.equal((await send(browser, forged, "/bind", [["api", four[0] ?? ""]])).status, 403);
  assert.equal(fixture.bound.length, before);
});
