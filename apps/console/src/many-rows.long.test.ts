/**
 * 500 app clusters with 10,000 instances: time to the first rows, scrolling through all of them, rows in the document, a change each second.
 * The first rows are there within a second on a quiet machine. On any machine they take at most some times as long as the floor: a bare page that
 * reads the same rows from a bare server in the same run.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import {
  assertQuick,
  launchChromium,
  measureFirstRows,
  picture,
  startBarePage,
} from "@klutch/kube-testing/chromium";
import { buildConsole } from "./bundle.ts";
import { open } from "./testing/opened.ts";
import { allRows, instanceRow } from "./testing/rows.ts";
import { startWireServer } from "./testing/wire-server.ts";

/** Scrolls the grid through in the page, 20 rows a frame, and returns the milliseconds of each frame and the most rows in the document. */
const scrollThrough = `new Promise((resolve) => {
  const grid = document.querySelector(".table");
  const frames = [];
  let last = performance.now();
  let rows = 0;
  const step = (time) => {
    frames.push(time - last);
    last = time;
    rows = Math.max(rows, document.querySelectorAll('[role="row"]').length);
    if (grid.scrollTop + grid.clientHeight >= grid.scrollHeight - 1) resolve({ frames: frames.slice(1), rows });
    else { grid.scrollTop += 880; requestAnimationFrame(step); }
  };
  requestAnimationFrame(step);
})`;

/** A bare page is there sooner on a quiet machine. */
const quietMs = 200;

test("10,000 instances of 500 app clusters open in less than a second and scroll smoothly", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "klutch-console-"));
  await buildConsole(folder);
  const browser = await launchChromium();
  await using server = await startWireServer(folder, allRows(500, 10_000));
  try {
    await using opened = await open(browser, `${server.url}/console/problems`);
    const { page } = opened;
    await page.waitForSelector(".row");
    const { instances } = server.rows;
    await using bare = await startBarePage(JSON.stringify({ collection: "instances", rows: instances }));
    const floor = { tab: await page.context().newPage(), url: bare.url };
    const measured = await measureFirstRows({ tab: page, url: `${server.url}/console/instances` }, floor);
    await floor.tab.close();
    t.diagnostic(assertQuick(measured, { withinMs: 1_000, timesFloor: 6, quietMs }));
    const timer = setInterval(() => {
      server.change({ collection: "instances", upserts: [instanceRow(5, 500)], removed: [] });
    }, 1000);
    const result: unknown = await page.evaluate(scrollThrough);
    clearInterval(timer);
    const { frames, rows } = result as { readonly frames: readonly number[]; readonly rows: number };
    const mean = frames.reduce((sum, ms) => sum + ms, 0) / frames.length;
    const worst = Math.max(...frames);
    t.diagnostic(`${frames.length} frames, ${mean.toFixed(1)} ms on average, ${worst.toFixed(0)} ms at most`);
    t.diagnostic(`at most ${rows} rows in the document`);
    // A loaded machine is slower by as much as it is with a bare page.
    const slowness = Math.max(1, Math.min(...measured.floorMs) / quietMs);
    assert.ok(
      mean < 100 * slowness,
      `a frame takes ${mean} ms, on a machine ${slowness.toFixed(1)} times slower`,
    );
    assert.ok(rows < 100, `${rows} rows in the document`);
    await page.waitForSelector('[aria-rowindex="10001"]');
    await picture(page, "console-10000-end");
    const before = performance.now();
    await page.getByRole("searchbox").fill("redis prod-7");
    await page.waitForSelector("text=/ of 10,000 instances/");
    t.diagnostic(`a search answers after ${Math.round(performance.now() - before)} ms`);
    assert.deepEqual(opened.complaints, []);
  } finally {
    await browser.close();
    await rm(folder, { recursive: true });
  }
});
