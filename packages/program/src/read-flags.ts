/** Reads a program's flags and environment by its table. All faults are found at once, each in one sentence that begins with the flag. */
import { parseArgs } from "node:util";
import { changesBetween } from "@klutch/kube-core";
import { type Flag, FlagFault, type FlagTable, type ValuesOf } from "./flag.ts";

/** Arguments and environment that a process was started with. */
export interface FlagSource {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The process was started with flags or an environment that do not fit. */
export class ConfigError extends Error {
  readonly code = "Config";
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join("\n"));
    this.name = "ConfigError";
    this.faults = faults;
  }
}

/** Values and faults of the flags. Do not use a value whose fault is reported. */
export interface ReadFlags<T extends FlagTable> {
  readonly values: ValuesOf<T>;
  readonly faults: string[];
  /** Names of the flags that were typed with a value that is not empty. */
  readonly given: ReadonlySet<string>;
}

/** Reads all flags; never throws. */
export function readFlags<T extends FlagTable>(flags: T, source: FlagSource): ReadFlags<T> {
  const { given, faults } = collect(flags, source.args);
  const values = Object.entries(flags).map(([name, flag]) => {
    const texts = textsOf(flag, given.get(name) ?? [], source.env);
    if (texts.length === 0 && flag.required === true) {
      faults.push(
        `${titleOf(name, flag)} is required${flag.envOnly === true ? "" : otherWay(flag)}: ${flag.help}`,
      );
      return [name, undefined];
    }
    try {
      return [name, flag.read(texts)];
    } catch (error) {
      if (!(error instanceof FlagFault)) throw error;
      const value = flag.secret === true || !error.showsValue ? "" : `${JSON.stringify(texts.at(-1) ?? "")} `;
      faults.push(`${titleOf(name, flag)}: ${value}${error.message}`);
      return [name, undefined];
    }
  });
  const typed = [...given].filter(([, texts]) => texts.some((text) => text !== ""));
  return { values: decode<T>(values), faults, given: new Set(typed.map(([name]) => name)) };
}

/** As `readFlags`, for programs without rules between flags. Throws `ConfigError`. */
export function requireFlags<T extends FlagTable>(flags: T, source: FlagSource): ValuesOf<T> {
  const { values, faults } = readFlags(flags, source);
  if (faults.length > 0) throw new ConfigError(faults);
  return values;
}

/** Returns the text that people type: `--name`, or the name of the variable. */
function titleOf(name: string, flag: Flag<unknown>): string {
  return flag.envOnly === true ? (flag.env ?? name) : `--${name}`;
}

function otherWay(flag: Flag<unknown>): string {
  return flag.env === undefined ? "" : ` (or ${flag.env} in the environment)`;
}

function textsOf(flag: Flag<unknown>, given: readonly string[], env: FlagSource["env"]): readonly string[] {
  const fromEnv = flag.env === undefined ? "" : (env[flag.env] ?? "");
  const texts = flag.repeats === true ? given : given.slice(-1);
  if (texts.length > 0 && !(texts.every((text) => text === "") && fromEnv !== "")) return texts;
  if (fromEnv !== "") return [fromEnv];
  return flag.default === undefined ? [] : [flag.default];
}

interface Collected {
  readonly given: ReadonlyMap<string, readonly string[]>;
  readonly faults: string[];
}

function collect(flags: FlagTable, args: readonly string[]): Collected {
  const faults: string[] = [];
  const given = new Map<string, string[]>();
  const known = Object.entries(flags).filter(([, flag]) => flag.envOnly !== true);
  const options = Object.fromEntries(
    known.map(([name, { value, short }]) => [
      name,
      {
        type: value === undefined ? "boolean" : "string",
        ...(short === undefined ? {} : { short }),
      } as const,
    ]),
  );
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind === "positional")
      faults.push(`${JSON.stringify(token.value)} is not a flag; --help lists those that are`);
    if (token.kind !== "option") continue;
    const option = options[token.name];
    if (option === undefined) {
      faults.push(`${token.rawName} is not a flag; ${suggestion(token.name, Object.keys(options))}`);
      continue;
    }
    // Go programs take `-v=4`, which leaves the equals sign in the value.
    const text = token.rawName.startsWith("--") ? token.value : token.value?.replace(/^=/, "");
    const isMissing =
      option.type === "string" && (text === undefined || (!token.inlineValue && text.startsWith("-")));
    if (isMissing)
      faults.push(`${token.rawName}: needs a value, such as ${token.rawName}=<${flags[token.name]?.value}>`);
    else given.set(token.name, [...(given.get(token.name) ?? []), text ?? "true"]);
  }
  return { given, faults };
}

/** The flag that was probably meant. */
function suggestion(name: string, known: readonly string[]): string {
  const [best] = known
    .map((candidate) => ({ candidate, distance: changesBetween(name, candidate) }))
    .filter(({ distance }) => distance <= Math.min(2, name.length / 3))
    .toSorted((left, right) => left.distance - right.distance);
  return best === undefined ? "--help lists those that are" : `--${best.candidate} is`;
}

/** Each entry was read by the flag of its name. */
function decode<T extends FlagTable>(entries: readonly (readonly unknown[])[]): ValuesOf<T> {
  return Object.fromEntries(entries) as ValuesOf<T>;
}
