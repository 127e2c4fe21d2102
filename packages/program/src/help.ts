/** Text of `--help`. */
import type { Flag, FlagTable } from "./flag.ts";

/** A program as its users see it. */
export interface ProgramDescription {
  /** Such as `konnector`. */
  readonly name: string;
  readonly version: string;
  /** One sentence. */
  readonly summary: string;
  readonly flags: FlagTable;
}

/** Returns each flag with its value, default and environment variable. */
export function helpText(program: ProgramDescription): string {
  const entries = Object.entries(program.flags);
  const flags = entries.filter(([, flag]) => flag.envOnly !== true);
  const variables = entries.filter(([, flag]) => flag.envOnly === true);
  const own: readonly (readonly [string, string])[] = [
    ["  -h, --help", "Prints this text"],
    ["      --version", "Prints the version"],
  ];
  return [
    `${program.name} ${program.version}: ${program.summary}`,
    "",
    `Usage: ${program.name} [flags]`,
    "",
    "Flags:",
    ...lines([...flags.map(([name, flag]) => [usageOf(name, flag), sentencesOf(flag)] as const), ...own]),
    ...(variables.length === 0 ? [] : ["", "Environment only:"]),
    ...lines(variables.map(([name, flag]) => [`  ${flag.env ?? name}`, sentencesOf(flag)] as const)),
    "",
  ].join("\n");
}

function lines(rows: readonly (readonly [string, string])[]): readonly string[] {
  return rows.flatMap(([left, right]) => [left, `          ${right}`]);
}

function usageOf(name: string, flag: Flag<unknown>): string {
  return `  ${flag.short === undefined ? "    " : ""}${titleOfFlag(name, flag)}`;
}

/** Returns the flag as it is typed, such as `-d, --debug` or `--probe-port=<port>`. */
export function titleOfFlag(name: string, { short, value }: Flag<unknown>): string {
  return `${short === undefined ? "" : `-${short}, `}--${name}${value === undefined ? "" : `=<${value}>`}`;
}

function sentencesOf(flag: Flag<unknown>): string {
  const more = [
    ...(flag.required === true ? ["required"] : []),
    ...(flag.default === undefined || flag.default === "" ? [] : [`default ${flag.default}`]),
    ...(flag.env === undefined || flag.envOnly === true ? [] : [`environment ${flag.env}`]),
    ...(flag.repeats === true ? ["may be given several times"] : []),
  ];
  return more.length === 0 ? flag.help : `${flag.help} (${more.join("; ")})`;
}
