/** Kills programs of a sandbox, which starts them again a second after they ended. */
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Kill, Program } from "./plan.ts";

const pollEveryMs = 50;

/** Sends SIGKILL, and counts what was hit. */
export class Killer {
  readonly #sandboxPid: number;
  readonly #kill: (pid: number) => unknown;
  readonly #hit = new Map<Program, Set<number>>();
  /** Kills that found the program ended already, by an earlier kill. */
  missed = 0;

  /** `kill` sends SIGKILL; another one is for tests. */
  constructor(sandboxPid: number, kill = (pid: number): unknown => process.kill(pid, "SIGKILL")) {
    this.#sandboxPid = sandboxPid;
    this.#kill = kill;
  }

  /** Processes of the program that were killed. */
  killsOf(program: Program): number {
    return this.#hit.get(program)?.size ?? 0;
  }

  /** Returns when the program may come back. */
  async strike({ program, downMs }: Kill): Promise<void> {
    if (!(await this.#killOnce(program))) this.missed++;
    for (const end = performance.now() + downMs; performance.now() < end; await sleep(pollEveryMs))
      await this.#killOnce(program);
  }

  /** Whether there was one. */
  async #killOnce(program: Program): Promise<boolean> {
    const pid = await processOf(this.#sandboxPid, program);
    const hit = this.#hit.get(program) ?? new Set();
    if (pid === undefined || hit.has(pid)) return false;
    try {
      this.#kill(pid);
    } catch (error) {
      // It ended since it was found.
      if (error instanceof Error && "code" in error && error.code === "ESRCH") return false;
      throw error;
    }
    this.#hit.set(program, hit.add(pid));
    return true;
  }
}

/** The child of `parent` that runs the program; undefined while it does not run. */
export async function processOf(parent: number, program: Program): Promise<number | undefined> {
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const [stat, command] = await Promise.all(
      ["stat", "cmdline"].map((file) => readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "")),
    );
    // After the name in parentheses: state, parent. One that ended and was not collected yet has no command line.
    const isChild = stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[1] === String(parent);
    const words = command?.split("\0") ?? [];
    if (isChild && words[0] !== "/bin/sh" && words[1]?.endsWith(`/apps/${program}/src/main.ts`) === true)
      return Number(pid);
  }
  return undefined;
}
