/** Command lines that run in the test's process, with a script in the place of the person. */
import { runCli } from "../program.ts";
import { type ScriptedRun, scriptedRun } from "./script.ts";

/** The surroundings of a run: environment, answers, standard input. */
export type Outside = NonNullable<Parameters<typeof scriptedRun>[0]>;

/** A command that has ended. */
export interface Finished extends ScriptedRun {
  readonly code: number;
}

/** A command that runs; `done` gives its end. */
export interface Started extends ScriptedRun {
  readonly done: Promise<Finished>;
}

/** Starts `kubectl-bind` or `klutch` with these arguments. */
export function startRun(program: string, args: readonly string[], outside: Outside): Started {
  const run = scriptedRun(outside);
  return { ...run, done: runCli(program, args, run.context).then((code) => ({ ...run, code })) };
}
