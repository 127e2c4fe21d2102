/** The commands as data, for pages about them. */
import type { Command } from "commander";
import { connectionFlagsIn } from "./connection-flags.ts";

/** One command with those below it. Hidden options are left out. */
export interface CommandDescription {
  /** Full command as typed, such as `klutch service apply`. */
  readonly name: string;
  readonly description: string;
  readonly arguments: readonly {
    /** Argument with its brackets: `<needed>`, `[optional]`, `[several...]`. */
    readonly term: string;
    readonly description: string;
  }[];
  readonly options: readonly {
    /** Flags as printed, such as `-o, --output <format>`. */
    readonly flags: string;
    readonly description: string;
    /** Default as a user would type it; undefined if there is none. */
    readonly default: string | undefined;
    readonly required: boolean;
    /** True for a flag of every command that connects to a cluster. */
    readonly connects: boolean;
  }[];
  readonly commands: readonly CommandDescription[];
}

/** The library says nothing about the default's type. */
type DefinedOption = Omit<Command["options"][number], "defaultValue"> & { readonly defaultValue?: unknown };

/** Describes a command; `parent` is the text typed before its name. */
export function describeCommand(command: Command, parent = ""): CommandDescription {
  const name = `${parent}${command.name()}`;
  const connecting = connectionFlagsIn(command.options);
  return {
    name,
    description: command.description(),
    arguments: command.registeredArguments.map((argument) => {
      const term = `${argument.name()}${argument.variadic ? "..." : ""}`;
      return { term: argument.required ? `<${term}>` : `[${term}]`, description: argument.description };
    }),
    options: command.options
      .filter(({ hidden }) => !hidden)
      .map(({ flags, description, defaultValue, mandatory }: DefinedOption) => ({
        flags,
        description,
        default: typeof defaultValue === "string" ? defaultValue : undefined,
        required: mandatory,
        connects: connecting.has(flags),
      })),
    commands: command.commands.map((one) => describeCommand(one, `${name} `)),
  };
}
