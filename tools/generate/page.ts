/** Prints and reads tables in Markdown, and fills the places of a text with what follows from the source. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../root.ts";

/** Returns the lines of a table with an empty one after it. In cells, bars are escaped and ends of lines become spaces. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(" | ")} |`;
  return [line(head), `|${head.map(() => "---|").join("")}`, ...rows.map(line), ""];
}

function cell(text: string): string {
  return text.replaceAll(/(?<!\\)\|/g, "\\|").replaceAll("\n", " ");
}

/** Returns the cells of all rows of a text's tables, heads among them. */
export function tableRows(text: string): readonly (readonly string[])[] {
  const rows = text.split("\n").filter((line) => line.startsWith("| "));
  return rows.map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** Returns the words that a text has as code. */
export function codeWords(text: string): readonly string[] {
  return [...text.matchAll(/`([^`\n]+)`/g)].map(([, word = ""]) => word);
}

/** Returns a file of the repository with the words in the places of their names, which stand as `%NAME%`. */
export function filled(path: string, words: Readonly<Record<string, string>>): string {
  const source = readFileSync(join(repositoryRoot, path), "utf8");
  return source.replaceAll(/%([\w-]+)%/g, (place, name: string) => words[name] ?? place);
}
