/** The page with several choices in a real browser: with the keyboard alone, on a phone, in both colour schemes, under the strict policy. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import { launchChromium, picture, violations } from "@klutch/kube-testing/chromium";
import { plugin } from "../testing/waiting-plugin.ts";
import { startIdentityProvider } from "../testing/identity-provider.ts";
import { sampleResponse, startLoginFixture } from "../testing/login-fixture.ts";
import { mariadb, postgresql, serviceOffer, widgets } from "../testing/service-offers.ts";

const issuer = startIdentityProvider;
const oneService = await startLoginFixture({ issuer, offers: [...postgresql, widgets] });
const long = `${"LongName".repeat(12)}Instance`;
const services = await startLoginFixture({
  issuer,
  offers: [
    ...postgresql,
    mariadb,
    widgets,
    serviceOffer(long, { kind: "own", type: "long", title: "A service with a long name" }),
  ],
  unavailable: [
    {
      group: "anynines.com",
      resource: "searchinstances",
      reason: "CustomResourceDefinition searchinstances.anynines.com does not exist in this cluster",
      template: { namespace: "crossplane-system", name: "searchinstances" },
    },
  ],
});
const browser = await launchChromium();
after(async () => {
  await browser.close();
  await oneService[Symbol.asyncDispose]();
  await services[Symbol.asyncDispose]();
});

async function logIn(page: Page, url: string, port: number, m: string): Promise<void> {
  const query = new URLSearchParams({ s: "browser1", c: "abc123", p: String(port), n: "prod-eu", m });
  await page.goto(`${url}/authorize?${query.toString()}`);
  await page.fill('input[name="login"]', "ann");
  await page.fill('input[name="password"]', "x");
  await page.click('button[type="submit"]');
  await page.waitForURL("**/resources?s=browser1");
}

/** Names of the ticked boxes. */
async function ticked(page: Page): Promise<readonly string[]> {
  const names: unknown = await page.evaluate(
    "[...document.querySelectorAll('input[name=api]:checked')].map((box) => box.value)",
  );
  assert.ok(Array.isArray(names));
  return names.map(String);
}
const four = postgresql.map(({ resource, group }) => `${resource}.${group}`).toSorted();
const boundSince = (fixture: typeof services, count: number): readonly string[] =>
  fixture.bound.slice(count).map(({ resource, group }) => `${resource}.${group}`);

for (const colorScheme of ["light", "dark"] as const) {
  test(`a person binds the four APIs of PostgreSQL with one login and the keyboard alone (${colorScheme})`, async () => {
    await using receiver = await plugin();
    const viewport = { width: 900, height: 760 };
    const context = await browser.newContext({ colorScheme, viewport, bypassCSP: true });
    const page = await context.newPage();
    const problems: string[] = [];
    page.on("console", (message) => {
      const { url } = message.location();
      const isOurs = url.startsWith(oneService.url) && !url.endsWith("/favicon.ico");
      if (message.type() === "error" && isOurs) problems.push(message.text());
    });
    await logIn(page, oneService.url, receiver.port, "1");
    assert.equal(await page.locator("h1").innerText(), "Choose APIs for your cluster");
    assert.deepEqual(await ticked(page), []);
    await picture(page, `many-choose-${colorScheme}`);
    assert.deepEqual(await violations(page), []);
    const focused = page.locator(":focus");
    const reached: string[] = [];
    // Everything is reached by Tab in the order of the page; Space ticks a box and opens the settings.
    for (let step = 0; step < 30 && !reached.includes("Bind"); step++) {
      await page.keyboard.press("Tab");
      const name =
        (await focused.getAttribute("value")) ||
        (await focused.innerText()) ||
        (await focused.getAttribute("id")) ||
        "";
      reached.push(name);
      if (four.includes(name)) await page.keyboard.press("Space");
      if (name.startsWith("What a PostgresqlInstance")) {
        await page.keyboard.press("Space");
        assert.match(await page.locator("details[open] dd").innerText(), /1Gi memory/);
      }
    }
    assert.deepEqual(reached.slice(0, 3), ["q", "Search", "postgresql.anynines.com"]);
    assert.equal(reached.at(-1), "Bind", reached.join());
    assert.deepEqual((await ticked(page)).toSorted(), four);
    await picture(page, `many-selected-${colorScheme}`);
    assert.deepEqual(await violations(page), []);
    const before = oneService.bound.length;
    await page.keyboard.press("Enter");
    const answer = await receiver.answer;
    assert.equal(answer.searchParams.get("response"), sampleResponse);
    assert.deepEqual(boundSince(oneService, before).toSorted(), four);
    assert.deepEqual(problems, []);
    await context.close();
  });

  test(`the plugin's wish is selected on a phone, and Enter in the search field searches (${colorScheme})`, async () => {
    await using receiver = await plugin();
    const context = await browser.newContext({
      colorScheme,
      viewport: { width: 360, height: 740 },
      bypassCSP: true,
    });
    const page = await context.newPage();
    await logIn(page, services.url, receiver.port, "service=postgresql");
    const fits = async (): Promise<void> => {
      const width: unknown = await page.evaluate("document.documentElement.scrollWidth");
      assert.ok(Number(width) <= 360, `the page is ${String(width)} px wide`);
    };
    await fits();
    assert.deepEqual((await ticked(page)).toSorted(), four);
    await picture(page, `many-phone-${colorScheme}`);
    assert.deepEqual(await violations(page), []);
    const before = services.bound.length;
    await page.fill("#q", "maria");
    await page.keyboard.press("Enter");
    await page.waitForSelector("text=match “maria”");
    assert.equal(services.bound.length, before, "a search binds nothing");
    await page.check('input[value="mariadbinstances.anynines.com"]');
    await page.uncheck('input[value="restores.anynines.com"]');
    await fits();
    await picture(page, `many-phone-search-${colorScheme}`);
    assert.deepEqual(await violations(page), []);
    await page.click(".actions button");
    await receiver.answer;
    const chosen = [...four.filter((name) => !name.startsWith("restores")), "mariadbinstances.anynines.com"];
    assert.deepEqual(boundSince(services, before).toSorted(), chosen.toSorted());
    await context.close();
  });
}

test("the strict policy lets search and form work, and a page without a selection says so", async () => {
  await using receiver = await plugin();
  const context = await browser.newContext({ viewport: { width: 360, height: 740 } });
  const page = await context.newPage();
  await logIn(page, services.url, receiver.port, "apis=postgresqlinstanc,searchinstances");
  await picture(page, "many-unknown-phone");
  const notes = await page.locator("[role=status]").innerText();
  assert.match(
    notes,
    /postgresqlinstanc is not among the APIs that you may bind\. Nearest: postgresqlinstances\.anynines\.com/,
  );
  assert.match(notes, /searchinstances\.anynines\.com is not available now/);
  await page.fill("#q", "widget");
  await page.click("button.plain");
  await page.waitForSelector("text=1 API matches");
  await page.click(".actions button");
  await page.waitForSelector("text=You selected no API.");
  await picture(page, "many-nothing-selected-phone");
  await page.check('input[value="widgets.example.org"]');
  await page.click(".actions button");
  await receiver.answer;
  assert.equal(services.bound.at(-1)?.resource, "widgets");
  await context.close();
});
