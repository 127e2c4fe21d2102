import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { text } from "node:stream/consumers";
import { searchPath } from "./environment.ts";
import { endAll } from "./processes.ts";
import { overdue, parseWatchState, type WatchState } from "./watch-state.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-watch-"));
after(() => rm(folder, { recursive: true, force: true }));

const limits = { silentMs: 4_000, endingMs: 1_000, pollMs: 100 };
const state: WatchState = { file: "/x.test.ts", phase: "tests", atMs: 1_000_000, active: [] };

test("a file may go on until nothing has happened for longer than a limit of its phase", () => {
  assert.equal(overdue(state, 1_004_000, limits), undefined);
  assert.equal(overdue(state, 1_004_900, limits), "no test of it has started or ended for 5 s");
  const ended: WatchState = { ...state, phase: "ended", active: ["Timeout", "TCPServerWrap", "Timeout"] };
  assert.equal(overdue(ended, 1_001_000, limits), undefined);
  assert.match(overdue(ended, 1_002_000, limits) ?? "", /ended 2 s ago, .+ \(2 Timeout, 1 TCPServerWrap\)$/);
  assert.match(overdue({ ...state, phase: "gone" }, 1_002_000, limits) ?? "", /left processes$/);
});

test("half a state is none", () => {
  const whole = JSON.stringify(state);
  assert.deepEqual(parseWatchState(whole), state);
  assert.equal(parseWatchState(whole.slice(0, 20)), undefined);
  assert.equal(parseWatchState("null"), undefined);
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

/** One whose end nobody has taken up does not. */
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
const result = await runStage("hanging", ${JSON.stringify(files)}, ${JSON.stringify({ concurrency: 4, limits })});
console.log(JSON.stringify({ exitCode: result.exitCode, records: result.records }));`;
  // A runner that knows that it runs in a test of another one reports to that one.
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    env: { PATH: searchPath },
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  const said = await text(child.stdout);
  const nameOf = (name: string): string => `ENDED .*${name}\\.test\\.mjs: `;
  assert.match(said, new RegExp(`${nameOf("open")}its tests ended 1 s ago, .+\\(.*1 TCPServerWrap`));
  assert.match(said, new RegExp(`${nameOf("busy")}no test of it has started or ended for 4 s\\. .+ sleep`));
  assert.match(said, new RegExp(`${nameOf("setup")}no test of it has started or ended for `));
  assert.match(said, new RegExp(`${nameOf("orphan")}it ended 1 s ago and left processes\\. .+ sleep`));
  const ids = await startedIds();
  assert.equal(ids.length, files.length, said);
  for (const id of ids) assert.equal(await isRunning(id), false, said);
  assert.match(said, /^\{"exitCode":1,/m);
  for (const name of ["open", "busy", "setup"])
    assert.match(said, new RegExp(`^FAILED .*${name}\\.test\\.mjs: `, "m"), said);
});
