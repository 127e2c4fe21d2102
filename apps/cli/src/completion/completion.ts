/** Computes completions from the definition of the commands, so that no second list of them exists. */
import type { Argument, Command, Option } from "commander";

/** One word that may come next. */
export interface Candidate {
  readonly value: string;
  /** One line of help; may be empty. */
  readonly description: string;
}

/** Kind of file names that the shell adds. */
export type FileNames = "none" | "files" | "folders";

/** All that may stand there. Files are the shell's to find. */
export interface Completion {
  readonly candidates: readonly Candidate[];
  readonly files: FileNames;
}

/** Values of the flags before the word, by the names of their attributes. */
export type GivenFlags = Readonly<Record<string, unknown>>;

/** Reads the names in a kubeconfig, or of the bound APIs of an app cluster. The program asks only where one of them may stand. */
export type ReadNames = (
  kind: "contexts" | "clusters" | "users" | "apis",
  given: GivenFlags,
) => Promise<readonly string[]>;

/** Position in a command line, before the word to complete. */
interface LinePosition {
  readonly command: Command;
  /** Number of the command's arguments so far. */
  readonly position: number;
  /** Waits for its value. */
  readonly option: Option | undefined;
  readonly onlyArguments: boolean;
  readonly given: GivenFlags;
}

const nothing: Completion = { candidates: [], files: "none" };

/** The last of the words is to be completed; it may be empty. Whatever is offered begins with it. */
export async function complete(
  root: Command,
  words: readonly string[],
  readNames: ReadNames,
): Promise<Completion> {
  const word = words.at(-1) ?? "";
  const line = words.slice(0, -1).reduce(after, {
    command: root,
    position: 0,
    option: undefined,
    onlyArguments: false,
    given: {},
  });
  const { candidates, files } = await allAt(line, word, readNames);
  return { files, candidates: candidates.filter(({ value }) => value.startsWith(word) && isSafe(value)) };
}

/** Shells put a candidate into the line as it is, so a name with a `$(` in it would be run. */
function isSafe(value: string): boolean {
  return /^[\w@%+=:,./-]+$/.test(value);
}

function after(line: LinePosition, word: string): LinePosition {
  const { command, option } = line;
  if (option !== undefined) return withValue({ ...line, option: undefined }, option, word);
  if (line.onlyArguments || !word.startsWith("-") || word === "-") return afterArgument(line, word);
  if (word === "--") return { ...line, onlyArguments: true };
  const [name = "", ...value] = word.split("=");
  const found = optionsOf(command).find(({ long, short }) => long === name || short === name);
  if (found === undefined) return line;
  if (value.length > 0) return withValue(line, found, value.join("="));
  return found.required ? { ...line, option: found } : withValue(line, found, true);
}

function withValue(line: LinePosition, option: Option, value: string | true): LinePosition {
  return { ...line, given: { ...line.given, [option.attributeName()]: value } };
}

function afterArgument(line: LinePosition, word: string): LinePosition {
  const { command, position, onlyArguments } = line;
  const next = command.commands.find((each) => each.name() === word || each.aliases().includes(word));
  if (next === undefined || position > 0 || onlyArguments) return { ...line, position: position + 1 };
  return { ...line, command: next };
}

/** Options that a command takes: its own, and those of the commands that it is below. */
function optionsOf(command: Command): readonly Option[] {
  return [...command.options, ...(command.parent === null ? [] : optionsOf(command.parent))];
}

async function allAt(line: LinePosition, word: string, readNames: ReadNames): Promise<Completion> {
  const { command, position, option } = line;
  if (option !== undefined) return valuesOf(option, "", line, readNames);
  if (!line.onlyArguments && word.startsWith("-")) {
    const [name = "", ...value] = word.split("=");
    const found = optionsOf(command).find(({ long }) => long === name);
    if (value.length > 0) return found === undefined ? nothing : valuesOf(found, `${name}=`, line, readNames);
    return { candidates: flagsOf(command), files: "none" };
  }
  const argument = command.registeredArguments[position] ?? lastVariadic(command);
  const { candidates, files } =
    argument === undefined ? nothing : await ofArgument(argument, line, readNames);
  const below = position > 0 || line.onlyArguments ? [] : commandsOf(command);
  return { candidates: [...below, ...candidates], files };
}

function lastVariadic(command: Command): Argument | undefined {
  const last = command.registeredArguments.at(-1);
  return last?.variadic === true ? last : undefined;
}

async function ofArgument(
  argument: Argument,
  { given }: LinePosition,
  readNames: ReadNames,
): Promise<Completion> {
  const choices = argument.name() === "api" ? await readNames("apis", given) : (argument.argChoices ?? []);
  const isFile = argument.name() === "file" || argument.description.startsWith("path to");
  return { candidates: choices.map(plain), files: isFile ? "files" : "none" };
}

/** Completes the value of an option from its choices, or by its placeholder in the definition. */
async function valuesOf(
  option: Option,
  prefix: string,
  { given }: LinePosition,
  readNames: ReadNames,
): Promise<Completion> {
  const kinds = { "--context": "contexts", "--cluster": "clusters", "--user": "users" } as const;
  const kind = Object.entries(kinds).find(([long]) => long === option.long)?.[1];
  const values = kind === undefined ? (option.argChoices ?? []) : await readNames(kind, given);
  const candidates = values.map((value) => plain(`${prefix}${value}`));
  if (option.flags.includes("<path>")) return { candidates, files: "files" };
  return { candidates, files: option.flags.includes("<folder>") ? "folders" : "none" };
}

function plain(value: string): Candidate {
  return { value, description: "" };
}

function commandsOf(command: Command): readonly Candidate[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((each) => ({ value: each.name(), description: each.description() }));
}

function flagsOf(command: Command): readonly Candidate[] {
  const own = command.createHelp().visibleOptions(command);
  const above = command.parent === null ? [] : optionsOf(command.parent).filter(({ hidden }) => !hidden);
  const flags = [...own, ...above].flatMap(({ long, short, description }) => {
    const value = long ?? short;
    return value === undefined ? [] : [{ value, description }];
  });
  return flags.filter(({ value }, index) => flags.findIndex((other) => other.value === value) === index);
}
