/** Defines everything outside a command that it uses, so that tests can replace it. */
import type { Clock } from "@klutch/kube";

/** Text in and out. Data goes to `out` (standard output), everything meant for a person to `say` (standard error). */
export interface Terminal {
  /** True if a person can be asked with a prompt. */
  readonly interactive: boolean;
  out(text: string): void;
  /** Prints one line and adds the newline. */
  say(line: string): void;
  /** Shows that something is waited for until the returned function is called. */
  waiting(what: string): () => void;
  /** The next line of standard input without its newline; undefined at its end. */
  readLine(): Promise<string | undefined>;
  /** The rest of standard input. */
  readAll(): Promise<string>;
  /** A yes-or-no question to a person; only called when `interactive`. Undefined when the person cancels. */
  confirm(question: string): Promise<boolean | undefined>;
}

/** Everything outside that one run uses. */
export interface CliContext {
  readonly terminal: Terminal;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Aborts on Ctrl-C. */
  readonly signal: AbortSignal;
  /** Tries to show the address; failing is no error, the address is printed as well. */
  openBrowser(url: string): void;
}
