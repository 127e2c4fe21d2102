/** Pages whose commands are run word for word. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { playPerson } from "@klutch/sandbox";

/** A block of code in a page, with the language that stands behind its fence. */
export type CodeBlock = readonly [language: string, text: string];

/** The fenced code of a page of docs/, in the order of the text. Indented code is only shown. */
export async function codeIn(page: string): Promise<readonly CodeBlock[]> {
  const text = await readFile(join(import.meta.dirname, "..", "docs", page), "utf8");
  return [...text.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(([, language = "", code = ""]) => [
    language,
    code,
  ]);
}

/** Runs a block of the page as a person at a shell, who also does at the binding page what the page says. Gives back what was printed. */
export async function typed(text: string, cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  const child = spawn("/bin/sh", ["-e", "-c", text], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let printed = "";
  const logins = new Map<string, Promise<void>>();
  const onText = (chunk: Buffer): void => {
    printed += chunk.toString();
    const api = [...printed.matchAll(/^Choose (\w+)\./gm)].at(-1)?.[1] ?? "";
    const url = [...printed.matchAll(/^ *(https?:\/\/\S+\/authorize\?\S+)$/gm)].at(-1)?.[1];
    if (url !== undefined && !logins.has(url)) logins.set(url, playPerson(url, api));
  };
  child.stdout.on("data", onText);
  child.stderr.on("data", onText);
  await once(child, "close");
  await Promise.all(logins.values());
  assert.equal(child.exitCode, 0, `${text}\n${printed}`);
  return printed;
}
