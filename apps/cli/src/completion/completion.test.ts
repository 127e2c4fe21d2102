import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { completionWord, programOf } from "../names.ts";
import { startRun } from "../testing/run.ts";
import { completionScript, shells } from "./scripts.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-completion-"));
after(() => rm(folder, { recursive: true, force: true }));
const kubeconfig = join(folder, "config");
const named = (name: string): object => ({ name, context: {}, cluster: {}, user: {} });
await writeFile(
  kubeconfig,
  JSON.stringify({
    contexts: ["dev", "admin@prod", "arn:aws:eks:eu-1:123:cluster/dev", "x$(touch me)", "a b"].map(named),
    clusters: [named("kind-dev")],
    users: [named("me")],
  }),
);

/** Runs the program with words of which the last is to be completed, and returns its output lines. */
async function printed(program: string, ...words: readonly string[]): Promise<readonly string[]> {
  const { done } = startRun(program, [completionWord, ...words], { env: { KUBECONFIG: kubeconfig } });
  const finished = await done;
  assert.equal(finished.code, 0);
  return finished.stdout().trimEnd().split("\n");
}

/** Returns the completions without their descriptions. */
async function values(program: string, ...words: readonly string[]): Promise<readonly string[]> {
  return (await printed(program, ...words)).map((line) => line.replace(/\t.*/, ""));
}

test("commands are completed with their descriptions, below each other, and no files", async () => {
  assert.deepEqual(await values("klutch", "un"), ["unbind", ":4"]);
  assert.deepEqual(await values("klutch", "bind", "api"), ["apiservice", ":4"]);
  const [line = "", ...end] = await printed("klutch", "service", "rend");
  assert.match(line, /^render\t\S+ .*manifests/);
  assert.deepEqual(end, [":4"]);
  assert.ok((await values("kubectl-bind", "")).includes("apiservice"));
  assert.ok(!(await values("kubectl-bind", "https://provider.test/export", "")).includes("apiservice"));
});

test("flags are completed, those of commands above too, and hidden ones not", async () => {
  assert.deepEqual(await values("klutch", "bind", "apiservice", "--remote-n"), ["--remote-namespace", ":4"]);
  assert.deepEqual(await values("klutch", "bind", "apiservice", "--kubec"), ["--kubeconfig", ":4"]);
  assert.deepEqual(await values("klutch", "bind", "--vmod"), [":4"]);
  assert.deepEqual(await values("klutch", "verify", "--dry"), [":4"]);
  assert.deepEqual(await values("klutch", "verify", "--", "--he"), [":0"]);
});

test("contexts, clusters and users come from the kubeconfig, as values behind a space or a sign", async () => {
  assert.deepEqual(await values("kubectl-bind", "--context", "d"), ["dev", ":4"]);
  assert.deepEqual(await values("kubectl-bind", "--context=adm"), ["--context=admin@prod", ":4"]);
  assert.deepEqual(await values("klutch", "doctor", "--cluster", ""), ["kind-dev", ":4"]);
  assert.deepEqual(await values("klutch", "bind", "--user", ""), ["me", ":4"]);
});

test("the kubeconfig that the line names is read", async () => {
  const other = join(folder, "other");
  await writeFile(other, JSON.stringify({ contexts: [named("elsewhere")] }));
  assert.deepEqual(await values("klutch", "doctor", "--kubeconfig", other, "--context", ""), [
    "elsewhere",
    ":4",
  ]);
  assert.deepEqual(await values("klutch", "doctor", `--kubeconfig=${other}`, "--context", ""), [
    "elsewhere",
    ":4",
  ]);
  assert.deepEqual(await values("klutch", "doctor", "--kubeconfig=/nowhere", "--context", ""), [":4"]);
});

test("a name that a shell would run or take apart is not offered", async () => {
  const offered = await values("klutch", "doctor", "--context", "");
  assert.deepEqual(offered, ["dev", "admin@prod", "arn:aws:eks:eu-1:123:cluster/dev", ":4"]);
});

test("where a file or folder is meant the shell is told so", async () => {
  assert.deepEqual(await values("klutch", "bind", "apiservice", "-f", "x"), [":0"]);
  assert.deepEqual(await values("klutch", "service", "render", "--to", ""), [":16"]);
  assert.deepEqual(await values("klutch", "verify", ""), [":0"]);
  assert.deepEqual(await values("klutch", "verify", "a", ""), [":0"]);
  assert.deepEqual(await values("klutch", "verify", "a", "b", ""), [":4"]);
});

test("shells are an argument like others, and a shell that is none is refused by name", async () => {
  assert.deepEqual(await values("klutch", "completion", ""), [...shells, ":4"]);
  const { done } = startRun("klutch", ["completion", "tcsh"], {});
  const finished = await done;
  assert.equal(finished.code, 1);
  assert.match(finished.stderr(), /'tcsh' is invalid.*Allowed choices are bash, zsh/s);
});

test("each script asks the program that it was printed by, and leaves nothing of how it was written", () => {
  for (const shell of shells)
    for (const name of ["klutch", "kubectl-bind"]) {
      const script = completionScript(shell, name);
      assert.ok(script.includes(`${shell === "kubectl" ? "kubectl-bind" : name} __complete`), shell);
      assert.doesNotMatch(script, /\\\$\{|\\`/, shell);
    }
});

test("under the name that kubectl calls, every argument is a word to complete", () => {
  assert.deepEqual(programOf(["node", "/bin/kubectl_complete-bind", "--co", ""]), {
    name: "kubectl-bind",
    args: [completionWord, "--co", ""],
  });
  assert.deepEqual(programOf(["node", "/bin/klutch.exe", "doctor"]), { name: "klutch", args: ["doctor"] });
});
