/** Defines the findings of `klutch doctor` and prints them. */
import { printable } from "@klutch/api";
import type { CliContext } from "../context.ts";

/** One line of a section. `problem` makes the command fail; `note` is worth knowing. */
export interface Finding {
  readonly level: "ok" | "note" | "problem";
  readonly text: string;
  /** Next step for the user; printed below the finding. */
  readonly advice?: string | undefined;
}

/** Findings about one thing. */
export interface Section {
  readonly title: string;
  readonly findings: readonly Finding[];
}

export const ok = (text: string): Finding => ({ level: "ok", text });
export const note = (text: string, advice?: string): Finding => ({ level: "note", text, advice });
export const problem = (text: string, advice?: string): Finding => ({ level: "problem", text, advice });

/** Prints sections on standard output. */
export function printSections({ terminal }: CliContext, sections: readonly Section[]): void {
  terminal.out(sectionsText(sections));
}

/** Returns the sections as text. */
export function sectionsText(sections: readonly Section[]): string {
  const lines = sections.flatMap(({ title, findings }) => [
    `${title}\n`,
    ...findings.flatMap(({ level, text, advice }) => [
      `  ${level.padEnd(7)}  ${printable(text)}\n`,
      ...(advice?.split("\n") ?? []).map((line) => `           ${line}\n`),
    ]),
  ]);
  return lines.join("");
}

/** Prints the sections as JSON on standard output, as `sectionsObject` returns them. */
export function printJson({ terminal }: CliContext, sections: readonly Section[], problems: number): void {
  terminal.out(`${JSON.stringify(sectionsObject(sections, problems), null, 2)}\n`);
}

/** Returns the sections for programs: `{ "problems": <left>, "sections": [{ "title", "findings": [{ "level", "text", "advice" }] }] }`. */
export function sectionsObject(sections: readonly Section[], problems: number): object {
  const clean = sections.map(({ title, findings }) => ({
    title,
    findings: findings.map(({ level, text, advice }) => ({
      level,
      text: printable(text),
      ...(advice === undefined ? {} : { advice }),
    })),
  }));
  return { problems, sections: clean };
}

/** Counts the problems. */
export function problemsIn(sections: readonly Section[]): number {
  return sections.flatMap(({ findings }) => findings).filter(({ level }) => level === "problem").length;
}
