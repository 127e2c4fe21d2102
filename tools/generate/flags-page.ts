/** Prints the page of all flags and environment variables, from the tables that the programs read them by. */
import { operatorProgram } from "@klutch/a8s-operator";
import { backendProgram } from "@klutch/backend";
import { brokerProgram } from "@klutch/broker";
import { type CommandDescription, commandTree } from "@klutch/cli";
import { functionProgram } from "@klutch/function-klutch";
import { gatewayProgram } from "@klutch/gateway";
import { konnectorProgram } from "@klutch/konnector";
import { type Flag, type ProgramDescription, titleOfFlag } from "@klutch/program";
import { providerProgram } from "@klutch/provider-anynines";
import { filled, table } from "./page.ts";

const programs: readonly ProgramDescription[] = [
  konnectorProgram,
  backendProgram,
  gatewayProgram,
  providerProgram,
  functionProgram,
  brokerProgram,
  operatorProgram,
];

/** Returns the page in Markdown. */
export function flagsPage(): string {
  const commands = commandTree();
  const sections = [...commandSections(commands), ...connectionSection(commands)];
  return filled("tools/generate/flags.md", {
    FLAGS: [...programs.flatMap(programSection), ...sections].join("\n"),
  });
}

function programSection({ name, summary, flags }: ProgramDescription): readonly string[] {
  return [
    `## ${name}`,
    `It ${summary.replace(/^the /, "is the ")}.`.replace("It is", "This is"),
    "",
    ...table(["flag or variable", "default", "what"], Object.entries(flags).map(flagRow)),
  ];
}

function flagRow([name, flag]: readonly [string, Flag<unknown>]): readonly string[] {
  const { env, envOnly, help, default: fallback = "", required, repeats } = flag;
  const notes = [
    help,
    ...(required === true ? ["Required"] : []),
    ...(repeats === true ? ["May be given several times"] : []),
    ...(env === undefined || envOnly === true ? [] : [`Variable \`${env}\``]),
  ];
  const title = envOnly === true ? (env ?? name) : titleOfFlag(name, flag);
  return row(title, fallback === "" ? undefined : fallback, notes.join(". "));
}

/** Commands in the order in which `--help` has them; options that a command takes from its parent stand there only. */
function commandSections(
  { name, description, arguments: taken, options, commands }: CommandDescription,
  known: ReadonlySet<string> = new Set(),
): readonly string[] {
  const own = options.filter((option) => !known.has(keyOf(option)));
  const rows = [
    ...taken.map((one) => row(one.term, undefined, one.description)),
    ...own.filter(({ connects }) => !connects).map(optionRow),
  ];
  const connects = own.some((option) => option.connects);
  const alias = name.startsWith("klutch bind")
    ? ` Also \`${name.replace("klutch bind", "kubectl bind")}\`.`
    : "";
  const all = new Set([...known, ...options.map(keyOf)]);
  return [
    `## ${[name, ...taken.map(({ term }) => term)].join(" ")}`,
    `${description}${alias}${connects ? " It also takes [the flags of a connection](#flags-of-a-connection)." : ""}`,
    "",
    ...(rows.length === 0 ? [] : table(optionHead, rows)),
    ...commands.flatMap((command) => commandSections(command, all)),
  ];
}

type Option = CommandDescription["options"][number];

/** A command may have a flag of the same name as its parent with another meaning. */
function keyOf({ flags, description }: Option): string {
  return `${flags} ${description}`;
}
const optionHead = ["argument or flag", "default", "what"];

function optionRow({ flags, description, required, default: fallback }: Option): readonly string[] {
  return row(flags, fallback, `${description}${required ? ". Required" : ""}`);
}

function row(title: string, fallback: string | undefined, text: string): readonly string[] {
  return [`\`${title}\``, fallback === undefined ? "" : `\`${fallback}\``, text];
}

/** Lists them once for all commands, in the words of the first command that has them. */
function connectionSection({ options, commands }: CommandDescription): readonly string[] {
  const connecting = [options, ...commands.map((command) => command.options)].find((some) =>
    some.some(({ connects }) => connects),
  );
  return [
    "## Flags of a connection",
    "Of every command of `klutch` that connects; for `klutch service` the cluster is the control plane.",
    "",
    ...table(optionHead, (connecting ?? []).filter(({ connects }) => connects).map(optionRow)),
  ];
}
