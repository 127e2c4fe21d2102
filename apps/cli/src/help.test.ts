import assert from "node:assert/strict";
import { test } from "node:test";
import type { CommandDescription } from "./command-tree.ts";
import { connectionFlags } from "./connection-flags.ts";
import { commandTree } from "./program.ts";
import { startRun } from "./testing/run.ts";

/** Every command below `klutch`, at any depth. */
function commandsIn({ commands }: CommandDescription): readonly CommandDescription[] {
  return commands.flatMap((command) => [command, ...commandsIn(command)]);
}

async function printed(program: string, args: readonly string[]): Promise<string> {
  const run = await startRun(program, args, {}).done;
  assert.equal(run.code, 0, run.stderr());
  return run.stdout();
}

/** Commands that take the flags of `bind`. */
const belowBind = ["klutch bind apiservice", "klutch bind unbind"];

test("help shows the flags of the command itself, and names the list of those that choose the cluster", async () => {
  const commands = commandsIn(commandTree());
  assert.ok(commands.length > 15, String(commands.length));
  for (const { name, options } of commands) {
    const help = await printed("klutch", [...name.split(" ").slice(1), "--help"]);
    assert.ok(help.startsWith(`Usage: ${name}`), name);
    for (const { flags, connects } of options)
      assert.equal(help.includes(`\n  ${flags} `), !connects, `${name} ${flags}`);
    const connects = belowBind.includes(name) || options.some((option) => option.connects);
    assert.equal(help.includes('\nUse "klutch options" for the flags'), connects, name);
    // The flags of bind come after the command's own.
    const [own, ofBind] = [help.indexOf("\nOptions:"), help.indexOf("\nGlobal Options:")];
    assert.equal(ofBind > own, belowBind.includes(name), name);
  }
  assert.match(await printed("kubectl-bind", ["--help"]), /\nUse "kubectl bind options" for /);
});

test("klutch options and kubectl bind options list every flag that chooses the cluster", async () => {
  for (const program of ["klutch", "kubectl-bind"]) {
    const list = await printed(program, ["options"]);
    for (const [flags] of connectionFlags) assert.ok(list.includes(`\n  ${flags} `), flags);
    assert.match(list, /^These flags .*:\n {2}--kubeconfig[^]*\n$/);
  }
});
