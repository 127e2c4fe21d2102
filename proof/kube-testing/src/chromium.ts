/** A real browser for tests: Debian's Chromium, driven by Playwright, with the accessibility checks of axe-core. */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { accessSync, constants, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { inheritedEnvironment } from "@klutch/engines";
import { type Browser, chromium, type Page } from "playwright-core";

export { assertQuick, measureFirstRows, startBarePage } from "./first-rows.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Starts it. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: findChromium(),
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
  });
}

function findChromium(): string {
  const named = inheritedEnvironment["KLUTCH_CHROMIUM"];
  const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
  const folders = (inheritedEnvironment["PATH"] ?? "").split(delimiter);
  const candidates =
    named === undefined ? names.flatMap((name) => folders.map((folder) => join(folder, name))) : [named];
  for (const path of candidates) {
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not here; the next candidate may be.
    }
  }
  throw new Error(
    `no browser found (${names.join(", ")} on PATH); install Debian's chromium or set KLUTCH_CHROMIUM`,
  );
}

/** Keeps a picture when KLUTCH_SCREENSHOTS names a folder. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = inheritedEnvironment["KLUTCH_SCREENSHOTS"];
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

/** Violations that axe-core finds, as readable lines. The page forbids scripts, so axe is put in by the debugger. */
export async function violations(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe);
  const found = await page.evaluate(
    `axe.run(document).then((result) => result.violations.map((one) => one.id + ": " + one.nodes.map((node) => node.html).join(" | ")))`,
  );
  assert.ok(Array.isArray(found));
  return found.map(String);
}
