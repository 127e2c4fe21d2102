/** The programs that a process has started, found by their command lines. */
import { readdir, readFile } from "node:fs/promises";

/** The first child of `parent` whose command line, in words, is `wanted`; undefined while none runs. */
export async function childOf(
  parent: number,
  wanted: (words: readonly string[]) => boolean,
): Promise<number | undefined> {
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const [stat, command] = await Promise.all(
      ["stat", "cmdline"].map((file) => readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "")),
    );
    // After the name in parentheses: state, parent. One that ended and was not collected yet has no command line.
    const isChild = stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[1] === String(parent);
    if (isChild && wanted(command?.split("\0") ?? [])) return Number(pid);
  }
  return undefined;
}

/** Returns whether a command line starts `<app>/src/main.ts` itself, not the shell around it. */
export function runsApp(words: readonly string[], app: string): boolean {
  return words[0] !== "/bin/sh" && words[1]?.endsWith(`/${app}/src/main.ts`) === true;
}
