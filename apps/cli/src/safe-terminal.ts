/** Limits which characters of the other side's texts a terminal shows. */
import { printable, printableLines } from "@klutch/api";
import type { Terminal } from "./context.ts";

/** The terminal behind the last line of defence: whatever is printed, nothing of it steers the terminal. */
export function safeTerminal(terminal: Terminal): Terminal {
  return {
    ...terminal,
    out: (text) => terminal.out(printableLines(text)),
    say: (line) => terminal.say(printableLines(line)),
    waiting: (what) => terminal.waiting(printable(what)),
    confirm: (question) => terminal.confirm(printableLines(question)),
  };
}
