/** The site of this repository, whole, and as browsers show it. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { after, test } from "node:test";
import { chromium, type Page } from "playwright-core";
import { openTree } from "../checks/tree.ts";
import { chromiumPath } from "../test/chromium.ts";
import { isPage, placeOf } from "./places.ts";
import { buildSite } from "./site.ts";

const tree = openTree();
const { files, problems } = buildSite(tree);
const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());

test("no link of any page leads nowhere, and each page is in the navigation once", () => {
  assert.deepEqual(problems, []);
  const home = files.get("index.html") ?? "";
  const navigation = home.slice(home.indexOf("<nav"), home.indexOf("</nav>"));
  for (const path of [...tree.paths].filter((one) => isPage(one) && one !== "docs/README.md"))
    assert.equal(navigation.split(`href="${placeOf(path)}"`).length, 2, path);
});

test("no file has a script or asks for anything but its style sheet", () => {
  for (const [place, text] of files) {
    if (!place.endsWith(".html")) continue;
    assert.doesNotMatch(text, /<script|\son\w+="|<img|<iframe|javascript:/i, place);
    assert.equal(text.match(/<link /g)?.length, 1, place);
    assert.match(text, /Content-Security-Policy" content="default-src 'none'; style-src 'self'/, place);
    assert.equal(text.match(/<h1/g)?.length, 1, `${place} has more or less than one title`);
  }
});

test("pages can be read on a phone and on a wide screen, in light and dark, by everybody", async () => {
  const root = await mkdtemp(join(tmpdir(), "klutch-site-"));
  stack.defer(() => rm(root, { recursive: true, force: true }));
  for (const [place, text] of files) {
    await mkdir(dirname(join(root, place)), { recursive: true });
    await writeFile(join(root, place), text);
  }
  const browser = await chromium.launch({
    executablePath: chromiumPath(),
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
  });
  stack.defer(() => browser.close());
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
      await page.goto(pathToFileURL(join(root, place)).href);
      const where = `${place} ${width} ${colorScheme}`;
      assert.equal(
        await page.evaluate("document.documentElement.scrollWidth"),
        width,
        `${where} is too wide`,
      );
      assert.deepEqual(await violations(page), [], where);
      const folder = process.env["KLUTCH_SCREENSHOTS"];
      if (folder !== undefined)
        await page.screenshot({ path: join(folder, `${where.replaceAll(/\W+/g, "-")}.png`) });
    }
    await context.close();
  }
});

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe-core finds, as readable lines. */
async function violations(page: Page): Promise<unknown> {
  await page.evaluate(axe);
  return page.evaluate(
    `axe.run(document).then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes[0].html))`,
  );
}
