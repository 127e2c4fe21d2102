/** The process's own terminal. */
import { createInterface, type Interface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import yoctoSpinner from "yocto-spinner";
import type { Terminal } from "./context.ts";

/** A terminal over the three standard streams. Dispose it, or reading from standard input keeps the process alive. */
export function createTerminal(streams: {
  readonly stdin: Readable & { readonly isTTY?: boolean | undefined };
  readonly stdout: Writable;
  readonly stderr: Writable & { readonly isTTY?: boolean | undefined };
}): Terminal & Disposable {
  const { stdin, stdout, stderr } = streams;
  const showsProgress = stderr.isTTY === true;
  let lines: { readonly reader: Interface; readonly next: AsyncIterator<string> } | undefined;
  return {
    interactive: stdin.isTTY === true && stderr.isTTY === true,
    out: (data) => void stdout.write(data),
    say: (line) => void stderr.write(`${line}\n`),
    waiting(what) {
      if (!showsProgress) {
        stderr.write(`${what} …\n`);
        return () => {};
      }
      const spinner = yoctoSpinner({ text: what, stream: stderr, handleSignals: false }).start();
      return () => void spinner.stop();
    },
    async readLine() {
      if (lines === undefined) {
        const reader = createInterface({ input: stdin });
        lines = { reader, next: reader[Symbol.asyncIterator]() };
      }
      const line = await lines.next.next();
      return line.done === true ? undefined : line.value;
    },
    readAll: () => text(stdin),
    async confirm(question) {
      const { confirm, isCancel } = await import("@clack/prompts");
      const answer = await confirm({ message: question, initialValue: false, input: stdin, output: stderr });
      return isCancel(answer) ? undefined : answer;
    },
    [Symbol.dispose]() {
      lines?.reader.close();
      stdin.destroy();
    },
  };
}
