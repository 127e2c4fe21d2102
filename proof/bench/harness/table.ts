/** Tables as Markdown, so that they can be pasted into proof/bench/RESULTS.md. */

/** Columns are padded to the widest cell; numbers are aligned to the right. */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) =>
    Math.max(title.length, 3, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const isNumeric = header.map((_, column) => rows.every((row) => /^[-–\d. %]*$/.test(row[column] ?? "")));
  const line = (cells: readonly string[]): string => {
    const padded = widths.map((width, column) => {
      const cell = cells[column] ?? "";
      return isNumeric[column] === true ? cell.padStart(width) : cell.padEnd(width);
    });
    return `| ${padded.join(" | ")} |`;
  };
  const rule = widths.map((width, column) =>
    isNumeric[column] === true ? `${"-".repeat(width - 1)}:` : "-".repeat(width),
  );
  return [line(header), line(rule), ...rows.map(line)].join("\n");
}
