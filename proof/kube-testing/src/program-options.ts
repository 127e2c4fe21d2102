/** Command lines of programs for developers, such as benchmarks and simulations. */
import { parseArgs } from "node:util";

/** A program was called in a wrong way; the message is a sentence for people. */
export class UsageError extends Error {}

/** The number of an option. Throws a `UsageError`, which names the option and the value, unless it is whole and above 0. */
export function wholeNumber(option: string, value: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < 1)
    throw new UsageError(`--${option} must be a whole number above 0, not "${value}"`);
  return number;
}

/** Options with their defaults, whose kinds they have: whole numbers above 0, texts, or switches. */
export type OptionDefaults = Readonly<Record<string, number | string | boolean>>;

/**
 * Reads the options of a command line. Words without a dash are added to the value of the option `wordsFor`, with commas between them; by default
 * they are refused. Throws an error that `exitCodeOf` prints.
 */
export function optionsOf<D extends OptionDefaults>(
  defaults: D,
  args: readonly string[],
  wordsFor?: keyof D,
): D {
  const kindOf = (usual: unknown): "boolean" | "string" =>
    typeof usual === "boolean" ? "boolean" : "string";
  const { values, positionals } = parseArgs({
    args: args.filter((argument) => argument !== "--"),
    allowPositionals: wordsFor !== undefined,
    options: Object.fromEntries(
      Object.entries(defaults).map(([name, usual]) => [name, { type: kindOf(usual) }]),
    ),
  });
  const chosen = Object.entries(defaults).map(([name, usual]) => {
    const words = name === wordsFor ? positionals : [];
    const given = words.length > 0 ? [values[name] ?? [], words].flat().join(",") : values[name];
    return [
      name,
      given !== undefined && typeof usual === "number" ? wholeNumber(name, String(given)) : (given ?? usual),
    ];
  });
  return Object.fromEntries(chosen) as D;
}

/** Runs it. An error in its command line is printed without a stack, and gives 2; any other error is thrown. */
export async function exitCodeOf(main: () => Promise<number>): Promise<number> {
  try {
    return await main();
  } catch (error) {
    if (!isUsage(error)) throw error;
    console.error(error.message);
    return 2;
  }
}

/** Reports true also for errors that `parseArgs` of Node throws. */
function isUsage(error: unknown): error is Error {
  if (error instanceof UsageError) return true;
  return error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS_");
}
