import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { text } from "node:stream/consumers";
import { endAll } from "./processes.ts";
import { overdue } from "./watch.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-watch-"));
after(() => rm(folder, { recursive: true, force: true }));

const limits = { silentMs: 4_000, endingMs: 1_000, pollMs: 100 };

test("a file may go on until nothing has happened for longer than a limit of its phase", () => {
  const state = { file: "/x.test.ts", atMs: 1_000_000, open: 1, ended: 3 };
  assert.equal(overdue(state, 1_004_000, limits), undefined);
  assert.equal(overdue(state, 1_004_900, limits), "no test of it has started or ended for 5 s");
  assert.equal(overdue({ ...state, open: 0, ended: 0 }, 1_003_000, limits), undefined);
  assert.equal(overdue({ ...state, open: 0 }, 1_001_000, limits), undefined);
  assert.equal(overdue({ ...state, open: 0 }, 1_002_000, limits), "its tests ended 2 s ago");
});

/** Files that would keep the runner for ever; each leaves a file for what it started. */
const hanging: Readonly<Record<string, string>> = {
  // The test fails before it closes what it opened.
  open: `test("fails", () => { createServer().listen(0, "127.0.0.1"); child({ stdio: "ignore" }); throw new Error("as wanted"); });`,
  busy: `test("busy", () => { child({ stdio: "ignore" }); for (;;); });`,
  setup: `child({ stdio: "ignore", env: {} }); await new Promise((resolve) => setTimeout(resolve, 1e9)); test("never", () => {});`,
  // The file's process ends; what it left holds the runner's pipe.
  orphan: `test("good", () => { child({ stdio: ["ignore", "inherit", "inherit"], detached: true }).unref(); });`,
};

/** Tells whether the process runs; a zombie does not. */
async function isRunning(id: number): Promise<boolean> {
  const stat = await readFile(`/proc/${id}/stat`, "utf8").catch(() => undefined);
  return stat !== undefined && !/\) Z /.test(stat);
}

const header = `import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
const child = (options) => {
  const started = spawn("sleep", ["100000"], options);
  writeFileSync(new URL("started-" + started.pid, import.meta.url), "");
  return started;
};
`;

test("files that would keep the runner for ever are ended by name, with everything that they started", {
  skip: process.platform === "linux" ? false : "only Linux says who started a process",
}, async (t) => {
  const files: string[] = [];
  for (const [name, source] of Object.entries(hanging)) {
    const file = join(folder, `${name}.test.mjs`);
    await writeFile(file, `${header}${source}\n`);
    files.push(file);
  }
  const startedIds = async (): Promise<readonly number[]> =>
    (await readdir(folder)).flatMap((name) => (name.startsWith("started-") ? [Number(name.slice(8))] : []));
  t.after(async () => endAll((await startedIds()).map((id) => ({ id, command: "sleep" }))));
  const stage = new URL("stage.ts", import.meta.url).href;
  const program = `const { runStage } = await import(${JSON.stringify(stage)});
const result = await runStage("hanging", ${JSON.stringify(files.map((file) => [[[file]]]))}, ${JSON.stringify({ limits })});
console.log(JSON.stringify(result.records.map(({ file, outcome }) => outcome + " " + file)));`;
  const entry = join(folder, "program.mjs");
  await writeFile(entry, program);
  // A runner that knows that it runs in a test of another one reports to that one.
  const child = spawn(process.execPath, [entry], {
    env: { PATH: process.env["PATH"] },
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  const said = await text(child.stdout);
  const nameOf = (name: string): string => `ENDED .*${name}\\.test\\.mjs: `;
  assert.match(said, new RegExp(`${nameOf("open")}its tests ended 1 s ago, .+\\(.*1 tcp`));
  assert.match(said, new RegExp(`${nameOf("busy")}no test of it has started or ended for 4 s\\. .+ sleep`));
  assert.match(said, new RegExp(`${nameOf("setup")}no test of it has started or ended for `));
  assert.match(
    said,
    new RegExp(`${nameOf("orphan")}its tests ended 1 s ago, and it left processes\\. .+ sleep`),
  );
  const ids = await startedIds();
  assert.equal(ids.length, files.length, said);
  for (const id of ids) assert.equal(await isRunning(id), false, said);
  for (const name of ["open", "busy", "setup"]) {
    assert.match(said, new RegExp(`"failed [^"]*${name}\\.test\\.mjs"`), said);
    assert.match(said, new RegExp(`^FAILED .*${name}\\.test\\.mjs: `, "m"), said);
  }
});
