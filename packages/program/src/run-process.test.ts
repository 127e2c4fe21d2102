import assert from "node:assert/strict";
import { test } from "node:test";
import { text } from "./flag.ts";
import { requireFlags } from "./read-flags.ts";
import { type ProcessHandle, type Program, runProcess } from "./run-process.ts";

interface Config {
  readonly logLevel: "silent";
  readonly name: string;
}

const flags = { name: text({ help: "A name", default: "anna" }) };
const program: Program<Config> = {
  name: "program",
  version: "v1",
  summary: "does it",
  flags,
  readConfig: (source) => ({ logLevel: "silent", name: requireFlags(flags, source).name }),
};

async function started(
  args: readonly string[],
  run: (config: Config) => Promise<void>,
): Promise<{ readonly code: unknown; readonly out: string; readonly err: string }> {
  const written = { out: "", err: "" };
  const handle: ProcessHandle = {
    argv: ["node", "main.ts", ...args],
    env: {},
    stdout: { write: (line) => (written.out += line) },
    stderr: { write: (line) => (written.err += line) },
    on: () => undefined,
    exit: () => undefined,
  };
  await runProcess(program, handle, run);
  return { code: handle.exitCode ?? 0, ...written };
}

const mustNotRun = (): Promise<void> => Promise.reject(new Error("it must not run"));

test("--help and --version are answered before anything is read or run", async () => {
  const help = await started(["--nonsense", "--help"], mustNotRun);
  assert.equal(help.code, 0);
  assert.match(help.out, /^program v1: does it\n[^]*--name=<text>/);
  assert.deepEqual(await started(["--version"], mustNotRun), { code: 0, out: "program v1\n", err: "" });
});

test("wrong flags are reported on standard error, with exit code 2", async () => {
  const { code, out, err } = await started(["--nonsense", "--name="], mustNotRun);
  assert.equal(code, 2);
  assert.equal(out, "");
  assert.equal(err, "--nonsense is not a flag; --help lists those that are\n--name: must not be empty\n");
});

test("a program that ends in order has exit code 0, one that fails 1", async () => {
  const names: string[] = [];
  const good = await started(["--name=bob"], async ({ name }) => void names.push(name));
  assert.equal(good.code, 0);
  assert.deepEqual(names, ["bob"]);
  assert.equal((await started([], () => Promise.reject(new Error("port taken")))).code, 1);
});
