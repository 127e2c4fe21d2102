/** The commands of `klutch service` and their flags. */
import { Command } from "commander";
import type { CommandTools } from "../command-tools.ts";
import type { CliContext } from "../context.ts";
import { commonOptions } from "../options.ts";
import { applyService } from "./apply.ts";
import { generationFlag, generationOf } from "./generation.ts";
import { checkService, renderService } from "./offline.ts";
import { removeService } from "./remove.ts";

/** `service` with its four commands. */
export function serviceCommand(context: CliContext, tools: CommandTools): Command {
  const make = (name: string, text: string): Command => tools.prepare(new Command(name)).description(text);
  return make("service", "Add a data service to a control plane, from one table.")
    .addCommand(checkCommand(context, make))
    .addCommand(renderCommand(context, make))
    .addCommand(applyCommand(context, make, tools))
    .addCommand(removeCommand(context, make, tools));
}

type Make = (name: string, text: string) => Command;
const fileArgument = "the service's table";

function checkCommand(context: CliContext, make: Make): Command {
  const command = make("check", "Tell what is wrong with a table, with lines. Needs no cluster.")
    .argument("<file>", fileArgument)
    .option(...generationFlag)
    .action((file: string) => checkService(context, file, generationOf(command.opts())));
  return command;
}

function renderCommand(context: CliContext, make: Make): Command {
  const command = make("render", "Write the manifests, examples and page of a table into a folder.")
    .argument("<file>", fileArgument)
    .requiredOption("--to <folder>", "folder that is written to; it is made when it is missing")
    .option(...generationFlag)
    .action((file: string, options: { readonly to: string }) =>
      renderService(context, file, { folder: options.to, generation: generationOf(command.opts()) }),
    );
  return command;
}

function applyCommand(context: CliContext, make: Make, tools: CommandTools): Command {
  const command = make("apply", "Make a table an API of the control plane, with your own rights there.")
    .argument("<file>", fileArgument)
    .option(...generationFlag)
    .option("-d, --dry-run", "let the API server check everything; change nothing")
    .option("-o, --output <format>", "of the dry run: yaml, json or name")
    .option("--timeout <duration>", "longest time to wait until the API is offered", "2m")
    .action((file: string) =>
      applyService(context, file, {
        ...commonOptions(command.opts(), context.env),
        generation: generationOf(command.opts()),
      }),
    );
  addControlPlaneFlags(command, tools);
  return command;
}

/** The flags of every command that connects; here they are about the other cluster. */
function addControlPlaneFlags(command: Command, tools: CommandTools): void {
  tools.addConnectionFlags(command);
  for (const option of command.options)
    option.description = option.description.replace("the app cluster", "the control plane cluster");
}

function removeCommand(context: CliContext, make: Make, tools: CommandTools): Command {
  const command = make("remove", "Take a service's API away; refused while there are claims.")
    .argument("<type>", "type of the service, the name of its table")
    .option(...generationFlag)
    .option("-d, --dry-run", "show whether it would be refused; change nothing")
    .action((type: string) =>
      removeService(context, type, {
        ...commonOptions(command.opts(), context.env),
        generation: generationOf(command.opts()),
      }),
    );
  addControlPlaneFlags(command, tools);
  return command;
}
