/** Opens the pages in a real browser and collects everything that the browser complains about. */
import assert from "node:assert/strict";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";

export const phone: BrowserContextOptions = { viewport: { width: 390, height: 844 }, hasTouch: true };
export const desktop: BrowserContextOptions = { viewport: { width: 1440, height: 900 } };

export interface Opened extends AsyncDisposable {
  readonly page: Page;
  /** Violations of the policy, errors of scripts, and whatever else is logged as an error. Answers of HTTP with an error are not. */
  readonly complaints: readonly string[];
}

/** Opens `url` with the policy in force. */
export async function open(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = desktop,
): Promise<Opened> {
  const context = await browser.newContext({ locale: "en-GB", timezoneId: "UTC", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    const isAnswer = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isAnswer) complaints.push(message.text());
  });
  await page.goto(url);
  return { page, complaints, [Symbol.asyncDispose]: () => context.close() };
}

/** Fails if the page is wider than its window. */
export async function assertFits(page: Page): Promise<void> {
  const widths: unknown = await page.evaluate("[document.documentElement.scrollWidth, innerWidth]");
  assert.ok(Array.isArray(widths));
  assert.ok(Number(widths[0]) <= Number(widths[1]), `the page is ${String(widths[0])} px wide`);
}
