/** A real browser for tests: Debian's Chromium, driven by Playwright, with the accessibility checks of axe-core. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { accessSync, constants, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { inheritedEnvironment } from "@klutch/engines";
import { type Browser, chromium, type Page } from "playwright-core";

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

/** Plays the plugin: takes the answer on loopback. */
export async function plugin(): Promise<
  { readonly port: number; readonly answer: Promise<URL> } & AsyncDisposable
> {
  const { promise: answer, resolve } = Promise.withResolvers<URL>();
  const server = createServer((request, response) => {
    if (request.url?.startsWith("/callback") === true) resolve(new URL(request.url, "http://localhost"));
    response.end("<!doctype html><html lang=en><title>done</title><main><h1>Done</h1></main></html>");
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, "localhost", () => listening.resolve());
  await listening.promise;
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    answer,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await Promise.resolve();
    },
  };
}
