import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import { launchChromium, picture, violations } from "@klutch/kube-testing/chromium";
import { plugin } from "../testing/waiting-plugin.ts";
import { startIdentityProvider } from "../testing/identity-provider.ts";
import { sampleOffer, sampleResponse, startLoginFixture } from "../testing/login-fixture.ts";

const backup = {
  ...sampleOffer,
  resource: "backups",
  kind: "Backup",
  description: "",
  fields: [],
  permissionClaims: [],
};
/** A field selector without a place to break a line, as those of the data services have. */
const binding = {
  ...backup,
  resource: "servicebindings",
  kind: "ServiceBinding",
  permissionClaims: sampleOffer.permissionClaims.map((claim) => ({
    ...claim,
    selector: { owner: "Provider" as const, fieldSelectors: ["type=connection.crossplane.io/v1alpha1"] },
  })),
};
const fixture = await startLoginFixture({
  issuer: startIdentityProvider,
  offers: [sampleOffer, backup, binding],
});
const browser = await launchChromium();
after(async () => {
  await browser.close();
  await fixture[Symbol.asyncDispose]();
});

async function logIn(page: Page, port: number): Promise<void> {
  await page.goto(`${fixture.url}/authorize?s=browser1&c=abc123&p=${port}`);
  await page.fill('input[name="login"]', "someone");
  await page.fill('input[name="password"]', "x");
  await page.click('button[type="submit"]');
  await page.waitForURL("**/resources?s=browser1");
}

for (const colorScheme of ["light", "dark"] as const) {
  test(`a person logs in, sees the APIs and binds one with the keyboard alone (${colorScheme})`, async () => {
    await using receiver = await plugin();
    const context = await browser.newContext({
      colorScheme,
      viewport: { width: 900, height: 760 },
      bypassCSP: true,
    });
    const page = await context.newPage();
    const problems: string[] = [];
    page.on("console", (message) => {
      // Only ours, not the identity provider's. Browsers ask for a favicon on their own.
      const { url } = message.location();
      if (message.type() === "error" && url.startsWith(fixture.url) && !url.endsWith("/favicon.ico")) {
        problems.push(message.text());
      }
    });
    await logIn(page, receiver.port);
    assert.equal(await page.locator("h1").innerText(), "Choose an API for your cluster");
    await picture(page, `choose-${colorScheme}`);
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press("Tab");
    const focused = page.locator(":focus");
    assert.equal(await focused.innerText(), "Bind Backup");
    await page.keyboard.press("Tab");
    assert.equal(await focused.innerText(), "What a Database can be");
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("details dd").innerText(), "The plan: small (1 GiB), big (<10 GiB>).");
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press("Tab");
    assert.equal(await focused.innerText(), "Bind Database");
    await picture(page, `focus-${colorScheme}`);
    await page.keyboard.press("Enter");
    const answer = await receiver.answer;
    assert.equal(answer.searchParams.get("response"), sampleResponse);
    assert.deepEqual(problems, []);
    await context.close();
  });
}

test("the strict policy lets the form reach the plugin, and the page fits a phone", async () => {
  await using receiver = await plugin();
  const context = await browser.newContext({ viewport: { width: 360, height: 740 } });
  const page = await context.newPage();
  await logIn(page, receiver.port);
  const width: unknown = await page.evaluate("document.documentElement.scrollWidth");
  assert.ok(Number(width) <= 360, `the page is ${String(width)} px wide`);
  await picture(page, "phone");
  await page.click("button.backups");
  await receiver.answer;
  assert.equal(fixture.bound.at(-1)?.resource, "backups");
  await context.close();
});

for (const colorScheme of ["light", "dark"] as const) {
  test(`a person who opens the address of the backend sees the command to type, on a phone, ${colorScheme}`, async () => {
    const viewport = { width: 390, height: 500 };
    const context = await browser.newContext({ bypassCSP: true, viewport, colorScheme });
    const page = await context.newPage();
    for (const path of ["/", "/export"]) {
      await page.goto(`${fixture.url}${path}`);
      assert.equal(await page.locator("pre").innerText(), `kubectl bind ${fixture.url}/export`);
      const width: unknown = await page.evaluate("document.documentElement.scrollWidth");
      assert.ok(Number(width) <= viewport.width, `${path} is ${String(width)} px wide`);
      await picture(page, `start-${colorScheme}${path === "/" ? "" : "-export"}`);
      assert.deepEqual(await violations(page), []);
    }
    await context.close();
  });
}

test("an error page says what happened and passes the accessibility check", async () => {
  const context = await browser.newContext({ bypassCSP: true, viewport: { width: 900, height: 500 } });
  const page = await context.newPage();
  await page.goto(`${fixture.url}/authorize?s=a&c=b&u=https://evil.example.com/`);
  assert.match(
    await page.locator("main").innerText(),
    /redirect to https:\/\/evil\.example\.com is not allowed/,
  );
  await picture(page, "refused");
  assert.deepEqual(await violations(page), []);
  await context.close();
});
