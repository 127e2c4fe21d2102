import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { type ProcessOptions, startProcess } from "@klutch/engines";
import { waitFor } from "@klutch/kube-testing";
import { keepProcess, logOfEnd, reportEnd, type Supervision } from "./supervise.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-supervise-"));
after(() => rm(folder, { recursive: true, force: true }));

function supervision(): Supervision & { readonly said: readonly string[] } {
  const said: string[] = [];
  const progress = {
    step: <T>(_name: string, run: () => Promise<T>): Promise<T> => run(),
    say: (line: string): void => void said.push(line),
    elapsed: () => 0,
  };
  return { stack: new AsyncDisposableStack(), progress, said };
}

/** A server that appends its process id to a file, and ends at once with code 4 while `<name>.broken` exists. */
function server(name: string): ProcessOptions & { readonly pids: () => Promise<readonly number[]> } {
  const file = join(folder, `${name}.pids`);
  const pids = async (): Promise<readonly number[]> =>
    (await readFile(file, "utf8").catch(() => "")).split("\n").filter(Boolean).map(Number);
  const script = `test -e ${join(folder, name)}.broken && exit 4; echo $$ >> ${file}; exec sleep 600`;
  const logFile = join(folder, `${name}.log`);
  return {
    name,
    command: "/bin/sh",
    args: ["-c", script],
    logFile,
    ready: async () => (await pids()).length > 0,
    pids,
  };
}

test("a server that ends by itself is reported and started again, until the sandbox stops", async () => {
  const kept = server("kept");
  const { stack, said, ...rest } = supervision();
  await keepProcess({ stack, ...rest }, kept);
  const [first = 0] = await kept.pids();
  process.kill(first, "SIGKILL");
  const second = await waitFor("the second start", async () => (await kept.pids())[1]);
  assert.match(said.join("\n"), /kept ended with code 137, its log is .*kept.log; starting it again/);
  assert.deepEqual(said.map(logOfEnd), [kept.logFile]);
  await stack.disposeAsync();
  assert.throws(() => process.kill(second, 0), { code: "ESRCH" });
  assert.equal((await kept.pids()).length, 2);
});

test("a server that does not start again is tried again, and stopping meanwhile ends that too", async () => {
  const kept = server("broken");
  const { stack, said, ...rest } = supervision();
  await keepProcess({ stack, ...rest }, kept);
  await writeFile(join(folder, "broken.broken"), "");
  const [first = 0] = await kept.pids();
  await rm(join(folder, "broken.pids"));
  process.kill(first, "SIGKILL");
  await waitFor(
    "two failures",
    () => said.filter((line) => line.includes("did not start again")).length >= 2,
  );
  assert.match(said.join("\n"), /EngineError: broken ended with code 4/);
  await stack.disposeAsync();
  assert.deepEqual(await kept.pids(), []);
});

test("a first start that fails is an error, not something to try for ever", async () => {
  await writeFile(join(folder, "never.broken"), "");
  await assert.rejects(keepProcess(supervision(), server("never")), /never ended with code 4/);
});

test("the end of a server with data is reported while the sandbox runs, and not when it stops", async () => {
  const { stack, said, ...rest } = supervision();
  const data = stack.use(await startProcess(server("data")));
  reportEnd({ stack, ...rest }, data);
  const other = stack.use(await startProcess(server("other")));
  reportEnd({ stack, ...rest }, other);
  await other.kill();
  await waitFor("the report", () => said.length > 0);
  await stack.disposeAsync();
  await data.exited;
  assert.equal(said.length, 1);
  assert.match(
    said[0] ?? "",
    /other ended with code 137, its log is .*; stop the sandbox and start it again/,
  );
  assert.deepEqual(said.map(logOfEnd), [other.logFile]);
  assert.equal(
    logOfEnd("the konnector of app-a did not start: EngineError: it ended with code 4:"),
    undefined,
  );
});
