/** The site of this repository, whole, and as browsers show it. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { chromium, type Page } from "playwright-core";
import { openTree } from "../checks/tree.ts";
import { repositoryRoot } from "../root.ts";
import { chromiumPath } from "../test/chromium.ts";
import { isPage, placeOf } from "./places.ts";
import { serveFolder } from "./serve-testing.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const root = await mkdtemp(join(tmpdir(), "klutch-site-"));
stack.defer(() => rm(root, { recursive: true, force: true }));
const earlier = "v1.5.0=https://docs.test/v1.5.0/";
await promisify(execFile)(
  process.execPath,
  [join(repositoryRoot, "tools", "docs", "main.ts"), "--out", root, "--earlier", earlier],
  { cwd: root },
);
const places = (await readdir(root, { recursive: true })).filter((place) => place.endsWith(".html"));
const pages = [...openTree().paths].filter(isPage);
const server = stack.use(await serveFolder(root));
const browser = await chromium.launch({
  executablePath: chromiumPath(),
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
});
stack.defer(() => browser.close());

test("each page is in the navigation once", async () => {
  const home = await readFile(join(root, "index.html"), "utf8");
  const navigation = home.slice(home.indexOf('id="VPSidebarNav"'), home.indexOf('id="VPContent"'));
  for (const path of pages.filter((one) => one !== "docs/README.md"))
    assert.equal(navigation.split(`href="/${placeOf(path)}"`).length, 2, path);
});

test("no page runs a script but the site's own, or asks for anything elsewhere", async () => {
  for (const place of places) {
    const html = await readFile(join(root, place), "utf8");
    assert.doesNotMatch(html, /<[^>]*\son\w+=|<img|<iframe|javascript:/i, place);
    const [, policy = ""] = /Content-Security-Policy" content="(default-src 'none'; [^"]*)"/.exec(html) ?? [];
    assert.match(policy, /base-uri 'none'; form-action 'none'$/, place);
    const allowed = /script-src 'self'((?: 'sha256-[^']+')*);/.exec(policy)?.[1] ?? "";
    const inline = [...html.matchAll(/<script[^>]*>([^]+?)<\/script>/g)].map(
      ([, script = ""]) => `'sha256-${createHash("sha256").update(script).digest("base64")}'`,
    );
    assert.equal(allowed.trim(), inline.join(" "), place);
    for (const [tag, address = ""] of html.matchAll(/<(?:script|link)[^>]*\s(?:src|href)="([^"]*)"/g))
      assert.match(address, /^(?:\/(?!\/)|data:,$)/, `${place}: ${tag}`);
    if (place !== "404.html")
      assert.equal(html.match(/<h1/g)?.length, 1, `${place} has more or less than one title`);
  }
});

test("pages can be read on a phone and on a wide screen, in light and dark, by everybody", async () => {
  const views = [
    [360, "dark"],
    [1400, "light"],
  ] as const;
  for (const [width, colorScheme] of views) {
    const context = await browser.newContext({
      viewport: { width, height: 800 },
      colorScheme,
      bypassCSP: true,
    });
    const page = await context.newPage();
    for (const place of ["index.html", "troubleshooting.html", "reference/flags.html"]) {
      await page.goto(`${server.url}/${place}`, { waitUntil: "networkidle" });
      const where = `${place} ${width} ${colorScheme}`;
      assert.equal(
        await page.evaluate("document.documentElement.scrollWidth"),
        width,
        `${where} is too wide`,
      );
      assert.deepEqual(await violations(page), [], where);
      await screenshot(page, where);
    }
    await context.close();
  }
});

test("the search finds a page by a word of its text, by keyboard alone, and asks no other server", async () => {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, colorScheme: "light" });
  const page = await context.newPage();
  const asked: string[] = [];
  const problems: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).origin));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(error.message));
  await page.goto(`${server.url}/index.html`, { waitUntil: "networkidle" });
  await page.keyboard.press("Control+k");
  await page.locator("#localsearch-input").fill("heartbeat");
  const results = page.locator("#localsearch-list .result");
  await results.first().waitFor();
  assert.match((await results.allTextContents()).join("\n"), /heartbeat/i);
  await screenshot(page, "search");
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.pathname !== "/index.html");
  await page.locator(".VPNavBarAppearance button, .VPNavBarExtra button").first().click();
  await page.locator("html.dark").waitFor();
  assert.deepEqual(problems, []);
  assert.deepEqual([...new Set(asked)], [server.url]);
});

test("the menu of versions leads to the versions beside this one", async () => {
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  for (const place of ["index.html", "reference/flags.html"]) {
    await page.goto(`${server.url}/${place}`, { waitUntil: "networkidle" });
    await page.locator(".VPNavBarMenuGroup button").click();
    const link = page.locator(".VPNavBarMenuGroup a", { hasText: "v1.5.0" });
    assert.equal(await link.getAttribute("href"), "https://docs.test/v1.5.0/", place);
  }
});

/** Keeps a picture for people when KLUTCH_SCREENSHOTS names a folder. */
async function screenshot(page: Page, name: string): Promise<void> {
  const folder = process.env["KLUTCH_SCREENSHOTS"];
  if (folder !== undefined)
    await page.screenshot({ path: join(folder, `${name.replaceAll(/\W+/g, "-")}.png`) });
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Lists the violations that axe-core finds. */
async function violations(page: Page): Promise<unknown> {
  await page.evaluate(axe);
  return page.evaluate(
    `axe.run(document).then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes[0].html))`,
  );
}
