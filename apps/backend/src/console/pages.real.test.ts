/** The whole way of the console: a real browser, the built pages, a backend as a process, a real Dex, a real API server. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { apiServiceExportTemplates, clusterBindings, type Grant, grants } from "@klutch/api";
import { buildConsole } from "@klutch/console";
import { dexPassword, reservePorts } from "@klutch/engines";
import { allowPeople, ruleOn, waitFor } from "@klutch/kube-testing";
import { launchChromium, picture, violations } from "@klutch/kube-testing/chromium";
import { addressOf, prepareDex } from "../testing/dex.ts";
import { prepareReplicas, switchTo } from "../testing/replicas.ts";
import { createTenant } from "../testing/tenants.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const folder = await mkdtemp(join(tmpdir(), "klutch-console-"));
stack.defer(() => rm(folder, { recursive: true }));
await buildConsole(folder);
const [dexPort = 0] = stack.use(await reservePorts(1)).ports;
const fixture = await prepareReplicas(stack, "console-pages", async (owner, oidc) => {
  const { issuer, start } = await prepareDex(owner, dexPort, oidc);
  await start();
  return issuer;
});
const { cluster, service, start } = fixture;
const flags = ["--oidc-username-claim=email", `--console-assets=${folder}`, "--console-actions"];
await switchTo(service, await start("pages", ...flags));
const browser = await launchChromium();
stack.defer(() => browser.close());

test("an operator logs in at Dex, sees the offers under the strict policy, and logs out", async () => {
  const people = [["User", `oidc:${addressOf("developer")}`]] as const;
  const { client } = cluster;
  await createTenant(client, "shop", "someone#abc1");
  const identity = { issuer: "https://issuer.example", subject: "eve", user: "oidc:eve" };
  const api = { group: "example.org", resource: "databases" };
  const template = { namespace: "default", name: "databases" };
  await client.create<Grant>(grants, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "Grant",
    metadata: { namespace: "shop", name: "eve" },
    spec: { identity, api, template, boundAt: "2026-11-28T10:00:00Z" },
  });
  await allowPeople(client, "deletes-grants", ruleOn(grants, ["delete"]), people);
  for (const type of [apiServiceExportTemplates, clusterBindings, grants])
    await allowPeople(cluster.client, `lists-${type.plural}`, ruleOn(type, ["list"]), people);
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().startsWith("Failed to load"))
      complaints.push(message.text());
  });
  await page.goto(`${service.url}/console/offers`);
  await page.click("a.button");
  await page.fill('input[name="login"]', addressOf("developer"));
  await page.fill('input[name="password"]', dexPassword);
  await page.click('button[type="submit"]');
  await page.waitForURL("**/console/offers");
  await page.waitForSelector(".row");
  assert.match(await page.locator(".row").first().innerText(), /databases/i);
  assert.deepEqual(await violations(page), []);
  await picture(page, "console-real-offers");
  await page.locator(".row").first().click();
  await page.waitForSelector(".panel h2");
  await page.click("nav >> text=App clusters");
  await page.waitForSelector("text=1 app cluster");
  await page.click("nav >> text=Grants");
  await page.locator(".row").first().click();
  await page.getByRole("button", { name: "Revoke …" }).click();
  await page.waitForSelector("[role=alertdialog] >> text=/last Grant for databases/");
  assert.deepEqual(await violations(page), []);
  await picture(page, "console-real-revoke");
  await page.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).click();
  await page.waitForSelector("text=No grants yet.");
  await waitFor("the Grant to go", async () => (await client.list(grants)).items.length === 0);
  await page.getByRole("button", { name: "Log out" }).click();
  await page.waitForSelector("text=You are logged out.");
  await page.goto(`${service.url}/console/offers`);
  await page.waitForSelector("a.button");
  assert.deepEqual(complaints, []);
  await context.close();
});
