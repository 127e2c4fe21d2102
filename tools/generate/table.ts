/** Prints a table in Markdown. */

/** Returns the lines of a table with an empty one after it. In cells, bars are escaped and ends of lines become spaces. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(" | ")} |`;
  return [line(head), `|${head.map(() => "---|").join("")}`, ...rows.map(line), ""];
}

function cell(text: string): string {
  return text.replaceAll(/(?<!\\)\|/g, "\\|").replaceAll("\n", " ");
}
