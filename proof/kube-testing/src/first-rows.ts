/**
 * Measures how soon the rows of a page are there, beside a floor: a bare page that reads the same rows from a bare server and shows some of them.
 * The floor has no code of the product, so it says how fast browser and machine are at this moment.
 */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";

/** Serves rows on a bare page, which shows as many of them as a window has room for. */
export interface BarePage extends AsyncDisposable {
  readonly url: string;
}

const html = `<!doctype html><title>bare</title><script>
fetch("/rows").then((answer) => answer.json()).then(({ rows }) => {
  for (const row of rows.slice(0, 40)) {
    const line = document.createElement("div");
    line.className = "row";
    line.textContent = JSON.stringify(row);
    document.body.append(line);
  }
});
</script><body></body>`;

/** Starts it on loopback; `rows` is the JSON text of an object with a list `rows`. */
export async function startBarePage(rows: string): Promise<BarePage> {
  const packed = gzipSync(rows);
  const server = createServer((request, response) => {
    if (request.url === "/rows")
      response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" }).end(packed);
    else response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(html);
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", () => listening.resolve());
  await listening.promise;
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return {
    url: `http://127.0.0.1:${address.port}/`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await Promise.resolve();
    },
  };
}

/** Milliseconds until the first rows, of the measured page and of the floor, measured in turn. */
export interface FirstRows {
  readonly pageMs: readonly number[];
  readonly floorMs: readonly number[];
}

/** Opens both in turn, each in a tab of its own. */
export async function measureFirstRows(
  page: { readonly tab: Page; readonly url: string },
  floor: { readonly tab: Page; readonly url: string },
  rounds = 5,
): Promise<FirstRows> {
  const [pageMs, floorMs]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    floorMs.push(await firstRowsOf(floor));
    pageMs.push(await firstRowsOf(page));
  }
  return { pageMs, floorMs };
}

/** Returns the milliseconds from the navigation to the first rows, by the page's own clock. */
async function firstRowsOf({ tab, url }: { readonly tab: Page; readonly url: string }): Promise<number> {
  await tab.bringToFront();
  await tab.goto(url, { waitUntil: "commit" });
  await tab.waitForSelector(".row");
  return Number(await tab.evaluate("performance.now()"));
}

/** Bounds of `assertQuick`. */
export interface Quickness {
  /** Most milliseconds of the page on a quiet machine. */
  readonly withinMs: number;
  /** Most times that the page takes as long as the floor, on any machine. */
  readonly timesFloor: number;
  /** The machine is quiet if the floor takes less. */
  readonly quietMs: number;
}

/** Fails if the median of the page is too long, and returns a line with the figures. Only on a quiet machine it holds the absolute bound. */
export function assertQuick({ pageMs, floorMs }: FirstRows, bounds: Quickness): string {
  const [median, floor] = [medianOf(pageMs), medianOf(floorMs)];
  const times = median / floor;
  const isQuiet = floor < bounds.quietMs;
  const list = (all: readonly number[]): string => all.map((ms) => Math.round(ms)).join(", ");
  const machine = isQuiet
    ? "a quiet machine"
    : `a loaded machine, so ${bounds.withinMs} ms are not asked for`;
  const line = `first rows after ${list(pageMs)} ms, of a bare page after ${list(floorMs)} ms: ${times.toFixed(1)} times as long, on ${machine}`;
  assert.ok(times <= bounds.timesFloor, `more than ${bounds.timesFloor} times the floor: ${line}`);
  assert.ok(!isQuiet || median < bounds.withinMs, `more than ${bounds.withinMs} ms: ${line}`);
  return line;
}

function medianOf(values: readonly number[]): number {
  const median = values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)];
  assert.ok(median !== undefined, "nothing was measured");
  return median;
}
