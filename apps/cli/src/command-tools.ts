/** Tools that the program gives to each of its commands. */
import type { Command } from "commander";

/** Makes a command print through the context, and adds the flags that choose a cluster. */
export interface CommandTools {
  prepare(command: Command): Command;
  addConnectionFlags(command: Command): void;
}
