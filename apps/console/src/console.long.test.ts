/** The pages in a real browser under the strict policy: every page in both schemes and on a phone, the keyboard, changes, and bad days. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { launchChromium, picture, violations } from "@klutch/kube-testing/chromium";
import { collections } from "@klutch/overview/console-wire";
import type { Page } from "playwright-core";
import { buildConsole } from "./bundle.ts";
import { assertFits, desktop, open, phone } from "./testing/opened.ts";
import { allRows, clusterRow, instanceRow, konnectorRow, noRows, problemOf } from "./testing/rows.ts";
import { waitingWay } from "./testing/ways.ts";
import { startWireServer } from "./testing/wire-server.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-console-"));
await buildConsole(folder);
const browser = await launchChromium();
after(async () => {
  await browser.close();
  await rm(folder, { recursive: true });
});
const firstRow = ".row";
const count = (page: Page): Promise<string> => page.locator(".count").innerText();

for (const [size, options] of Object.entries({ desktop, phone }))
  for (const colorScheme of ["light", "dark"] as const)
    test(`every page is clean for axe, fits and keeps the policy (${size}, ${colorScheme})`, async () => {
      await using server = await startWireServer(folder, allRows(40, 240));
      server.explanation = waitingWay;
      await using opened = await open(browser, `${server.url}/console`, { ...options, colorScheme });
      const { page, complaints } = opened;
      for (const collection of collections) {
        await page.goto(`${server.url}/console/${collection}`);
        await page.waitForSelector(firstRow);
        assert.deepEqual(await violations(page), [], collection);
        await assertFits(page);
        await picture(page, `console-${collection}-${size}-${colorScheme}`);
        if (!["problems", "offers", "konnectors", "instances"].includes(collection)) continue;
        await page.locator(firstRow).first().click();
        await page.waitForSelector(".panel h2");
        if (collection === "instances") await page.waitForSelector(".step.failed");
        assert.deepEqual(await violations(page), [], `${collection} with its panel`);
        await assertFits(page);
        await picture(page, `console-${collection}-panel-${size}-${colorScheme}`);
      }
      assert.deepEqual(complaints, []);
    });

test("the keyboard alone reaches a row, opens it, goes through the rows and closes the panel", async () => {
  await using server = await startWireServer(folder, allRows(40, 240));
  server.explanation = waitingWay;
  await using opened = await open(browser, `${server.url}/console/instances?sort=name`);
  const { page } = opened;
  await page.waitForSelector(firstRow);
  const focused = page.locator(":focus");
  for (let step = 0; step < 30; step++) {
    await page.keyboard.press("Tab");
    if ((await focused.getAttribute("role")) === "row") break;
  }
  assert.equal(await focused.getAttribute("aria-rowindex"), "2", "Tab reaches the first row");
  // The focus follows with the next frame.
  const reaches = (row: string): Promise<unknown> => page.waitForSelector(`[role=row]${row}:focus`);
  await page.keyboard.press("ArrowDown");
  await reaches('[aria-rowindex="3"]');
  await page.keyboard.press("End");
  await reaches('[aria-rowindex="241"]');
  await page.keyboard.press("PageUp");
  await reaches(':not([aria-rowindex="241"])');
  await page.keyboard.press("Home");
  await reaches('[aria-rowindex="2"]');
  await page.keyboard.press("Enter");
  // The panel's heading has the focus.
  await page.waitForSelector('.panel :focus:text-is("team-0/db-0")');
  assert.match(page.url(), /row=/);
  await page.keyboard.press("Escape");
  await page.waitForSelector(".panel", { state: "detached" });
  await page.waitForSelector('[aria-rowindex="2"]:focus');
  await page.goBack();
  await page.waitForSelector(".panel");
});

test("a claim's way shows the step it waits for, who can fix it, and the command to copy", async () => {
  await using server = await startWireServer(folder, allRows(40, 240));
  server.explanation = waitingWay;
  const row = encodeURIComponent(instanceRow(3, 40).id);
  await using opened = await open(browser, `${server.url}/console/instances?row=${row}`);
  const step = opened.page.locator("[aria-current=step]");
  assert.match(
    await step.innerText(),
    /broker operation[\s\S]*503[\s\S]*The operator can fix this\.[\s\S]*kubectl get/,
  );
  assert.match(await opened.page.locator(".cause").innerText(), /cannot be reached/);
});

test("markup and floods of characters in names stay text", async () => {
  const markup = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;
  const rows = allRows(3, 3);
  const evil = instanceRow(1, 3, { name: markup, kind: markup, problem: markup, reason: "R".repeat(5000) });
  await using server = await startWireServer(folder, {
    ...rows,
    instances: [evil],
    problems: [{ ...problemOf(evil), says: markup, next: markup, title: `${markup}\u202e` }],
  });
  server.explanation = { ...waitingWay, cause: markup, notes: [markup] };
  await using opened = await open(browser, `${server.url}/console/instances`);
  const { page, complaints } = opened;
  await page.locator(firstRow).first().click();
  await page.waitForSelector(".cause");
  assert.equal(await page.locator(".cause").innerText(), markup);
  await page.goto(`${server.url}/console/problems`);
  await page.waitForSelector(firstRow);
  assert.equal(await page.locator("main img, main script, aside img, aside script").count(), 0);
  assert.equal(await page.title(), "Problems · Klutch console");
  await assertFits(page);
  assert.deepEqual(complaints, []);
});

test("a stopped roll-out is a problem that leads to its konnectors, whose panels say why, and a version is only ever text", async () => {
  const markup = `<img src=x onerror="document.title='owned'">`;
  const rows = allRows(12, 0);
  const stopped = konnectorRow(4, { version: markup });
  const about = { collection: "konnectors", id: "early" } as const;
  const problem = {
    ...problemOf(instanceRow(3, 12)),
    about,
    says: stopped.stopped,
    title: "KonnectorRollout early",
  };
  await using server = await startWireServer(folder, {
    ...rows,
    konnectors: rows.konnectors.map((row) => (row.id === stopped.id ? stopped : row)),
    problems: [problem],
  });
  await using opened = await open(browser, `${server.url}/console/problems`);
  const { page, complaints } = opened;
  await page.locator(firstRow).first().click();
  const link = page.locator("text=Show the konnectors of the roll-out");
  assert.equal(await link.getAttribute("href"), "/console/konnectors?q=early", "in a tab of its own, too");
  await link.click();
  await page.waitForSelector("text=1 of 12 konnectors");
  await page.locator(firstRow).first().click();
  await page.waitForSelector(".panel >> text=The roll-out has stopped");
  const panel = await page.locator(".panel").innerText();
  assert.match(
    panel,
    /wave 2 with v1\.4\.2 was stopped[\s\S]*kubectl edit konnectorrollouts early[\s\S]*example\.org\/channel=early/,
  );
  assert.ok(panel.includes(markup));
  assert.equal(await page.locator("main img, aside img").count(), 0);
  assert.deepEqual(complaints, []);
});

test("an action asks first, names object and consequence as text, is sent once, and a refusal offers it as it is now", async () => {
  const markup = `<img src=x onerror="document.title='owned'">`;
  await using server = await startWireServer(folder, allRows(5, 5));
  server.viewer = { ...server.viewer, actions: ["grants"] };
  const title = `Revoke the Grant of ${markup} for databases.example.org`;
  server.offered = [
    { name: "revoke-grant", label: "Revoke", title, consequences: [`${markup} loses it.`], token: "first" },
  ];
  const { id } = allRows(5, 5).grants[2] ?? { id: "" };
  const address = `${server.url}/console/grants?row=${encodeURIComponent(id)}`;
  await using opened = await open(browser, address);
  const { page, complaints } = opened;
  const button = page.locator(".panel").getByRole("button", { name: "Revoke …" });
  const dialog = page.getByRole("alertdialog");
  await button.click();
  assert.match(await dialog.innerText(), /Revoke the Grant of <img[\s\S]*loses it\./);
  assert.equal(await page.locator("aside img").count(), 0);
  assert.deepEqual(await violations(page), []);
  await assertFits(page);
  await picture(page, "console-action");
  // The focus is on the question, so Enter does nothing.
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  assert.equal(server.confirmed.length, 0);
  server.refusal = { error: "The object changed after you opened it.", advice: "Nothing was changed." };
  await button.click();
  server.offered = server.offered.map((offer) => ({ ...offer, token: "second" }));
  await dialog.getByRole("button", { name: "Revoke" }).dblclick();
  await page.waitForSelector("[role=alert]:has-text('changed after you opened it')");
  const [sent] = server.confirmed;
  assert.deepEqual(sent, { path: "/console/actions/revoke-grant", body: { row: id, token: "first" } });
  assert.equal(server.confirmed.length, 1);
  server.refusal = undefined;
  await button.click();
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await page.waitForSelector("text=Done: it is revoked.");
  assert.deepEqual(server.confirmed.at(-1)?.body, { row: id, token: "second" });
  assert.deepEqual(complaints, []);
});

test("a console that only reads offers no action and asks for none", async () => {
  await using server = await startWireServer(folder, allRows(5, 5));
  const { id } = allRows(5, 5).grants[0] ?? { id: "" };
  await using opened = await open(browser, "about:blank");
  const { page } = opened;
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(`${server.url}/console/grants?row=${encodeURIComponent(id)}`);
  await page.waitForSelector(".panel dl");
  assert.deepEqual(
    asked.filter((url) => url.includes("/actions")),
    [],
  );
  assert.equal(await page.locator(".panel").getByRole("button").count(), 1);
});

test("rows that come, change and go by the stream change on the page, also in the open panel", async () => {
  await using server = await startWireServer(folder, allRows(5, 0));
  const { id } = clusterRow(2);
  const address = `${server.url}/console/clusters?row=${encodeURIComponent(id)}`;
  await using opened = await open(browser, address);
  const { page } = opened;
  await page.waitForSelector(".panel");
  assert.equal(await count(page), "5 app clusters");
  const problem = "The credential ended.";
  server.change({
    collection: "clusters",
    upserts: [clusterRow(2, { health: "problem", problem }), clusterRow(9)],
    removed: [clusterRow(0).id],
  });
  await page.waitForSelector(`.panel >> text=${problem}`);
  await page.waitForSelector('.row[aria-selected="true"] .mark.problem');
  assert.equal(await page.locator("text=prod-9").count(), 1);
  assert.equal(await page.locator("text=prod-0").count(), 0);
  server.change({ collection: "clusters", upserts: [], removed: [id] });
  await page.waitForSelector("text=is gone, or you may not see it");
});

test("a person who loses a right loses the page and its rows", async () => {
  await using server = await startWireServer(folder, allRows(5, 5));
  await using opened = await open(browser, `${server.url}/console/clusters`);
  const { page } = opened;
  await page.waitForSelector(firstRow);
  server.viewer = { ...server.viewer, collections: ["problems", "offers"] };
  server.send("viewer", server.viewer);
  await page.waitForSelector("text=There is no such page, or you may not see it.");
  assert.equal(await page.locator("nav a").count(), 2);
  assert.equal(await page.locator(".row").count(), 0);
});

test("without a connection rows stay with their time, and come up to date when it is back", async () => {
  await using server = await startWireServer(folder, allRows(5, 5));
  await using opened = await open(browser, `${server.url}/console/clusters`);
  const { page } = opened;
  await page.waitForSelector(firstRow);
  server.away();
  await page.waitForSelector("text=/Connection lost, shown as of \\d\\d:\\d\\d/");
  await picture(page, "console-lost");
  assert.deepEqual(await violations(page), []);
  assert.equal(await count(page), "5 app clusters");
  server.rows = allRows(7, 5);
  server.back();
  await page.waitForSelector("text=7 app clusters");
  await page.waitForSelector("text=Connection lost", { state: "detached" });
});

test("the end of the session clears the page and offers a login that comes back", async () => {
  await using server = await startWireServer(folder, allRows(5, 5));
  await using opened = await open(browser, `${server.url}/console/clusters`);
  const { page } = opened;
  await page.waitForSelector(firstRow);
  server.send("end", { error: "Your session was ended.", advice: "Log in again to go on." });
  await page.waitForSelector("text=Your session was ended.");
  assert.equal(await page.locator("text=prod-1").count(), 0);
  assert.equal(await page.locator("a.button").getAttribute("href"), "/console/login");
  await picture(page, "console-session-over");
  assert.deepEqual(await violations(page), []);
  await page.locator("a.button").click();
  await page.waitForURL("**/console/clusters");
  await page.waitForSelector(firstRow);
  await page.getByRole("button", { name: "Log out" }).click();
  await page.waitForSelector("text=You are logged out.");
  await page.reload();
  await page.waitForSelector("text=You are not logged in.");
});

test("empty, loading and failed pages say so, and a failed one can be tried again", async () => {
  await using server = await startWireServer(folder, noRows);
  server.failing.add("clusters");
  await using opened = await open(browser, `${server.url}/console`);
  const { page } = opened;
  await page.waitForSelector("text=All is well.");
  await picture(page, "console-all-well");
  assert.deepEqual(await violations(page), []);
  await page.click("nav >> text=App clusters");
  await page.waitForSelector("text=The API server of the control plane does not answer.");
  await picture(page, "console-failed");
  assert.deepEqual(await violations(page), []);
  server.failing.clear();
  server.rows = allRows(3, 3);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.waitForSelector("text=3 app clusters");
  server.delayMs = 1500;
  await page.click("nav >> text=Members");
  await page.waitForSelector(".bone");
  await picture(page, "console-loading");
  assert.deepEqual(await violations(page), []);
  await page.waitForSelector(firstRow);
});

test("search filters by all words, is kept in the address, and one click shows all again", async () => {
  await using server = await startWireServer(folder, allRows(40, 240));
  await using opened = await open(browser, `${server.url}/console/instances`);
  const { page } = opened;
  await page.waitForSelector(firstRow);
  await page.getByRole("searchbox").fill("redis prod-7");
  await page.waitForSelector("text=/^\\d+ of 240 instances$/");
  const found = await page.locator(".row").allInnerTexts();
  assert.ok(found.length > 0 && found.every((text) => /Redis[\s\S]*prod-7/.test(text)), found.join());
  await page.reload();
  await page.waitForSelector("text=/^\\d+ of 240 instances$/");
  await page.getByRole("searchbox").fill("nothing like this");
  await page.waitForSelector("text=No instance matches “nothing like this”.");
  await page.click("text=Show all");
  await page.waitForSelector("text=240 instances");
});
