/** Kills programs of a sandbox, which starts them again a second after they ended. */
import { setTimeout as sleep } from "node:timers/promises";
import { childOf, runsApp } from "../../children.ts";
import type { Kill, Program } from "./plan.ts";

const pollEveryMs = 50;

/** Sends SIGKILL, and counts the programs that were hit. */
export class Killer {
  /** Counts the killed processes of each program. */
  readonly kills: Record<Program, number> = { "provider-anynines": 0, "function-klutch": 0, broker: 0 };
  readonly #sandboxPid: number;
  readonly #kill: (pid: number) => unknown;
  readonly #hit = new Set<number>();
  /** Kills that found the program ended already, by an earlier kill. */
  missed = 0;

  /** `kill` sends SIGKILL; another one is for tests. */
  constructor(sandboxPid: number, kill = (pid: number): unknown => process.kill(pid, "SIGKILL")) {
    this.#sandboxPid = sandboxPid;
    this.#kill = kill;
  }

  /** Returns when the program may come back. */
  async strike({ program, downMs }: Kill): Promise<void> {
    if (!(await this.#killOnce(program))) this.missed++;
    for (const end = performance.now() + downMs; performance.now() < end; await sleep(pollEveryMs))
      await this.#killOnce(program);
  }

  /** Kills the program if it runs and was not hit before; returns true if it was killed. */
  async #killOnce(program: Program): Promise<boolean> {
    const pid = await childOf(this.#sandboxPid, (words) => runsApp(words, program));
    if (pid === undefined || this.#hit.has(pid)) return false;
    try {
      this.#kill(pid);
    } catch (error) {
      // It ended since it was found.
      if (error instanceof Error && "code" in error && error.code === "ESRCH") return false;
      throw error;
    }
    this.#hit.add(pid);
    this.kills[program]++;
    return true;
  }
}
