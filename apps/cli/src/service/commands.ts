/** The commands of `klutch service` and their flags. */
import { Command } from "commander";
import type { CommandTools } from "../command-tools.ts";
import type { CliContext } from "../context.ts";
import { commonOptions } from "../options.ts";
import { applyService } from "./apply.ts";
import { passwordVariable } from "./catalog-source.ts";
import { serviceFromCatalog } from "./from-catalog.ts";
import { generationFlag, generationOf } from "./generation.ts";
import { checkService, renderService } from "./offline.ts";
import { removeService } from "./remove.ts";

/** `service` with its five commands. */
export function serviceCommand(context: CliContext, tools: CommandTools): Command {
  const make = (name: string, text: string): Command => tools.prepare(new Command(name)).description(text);
  return make("service", "Add a data service to a control plane from its table.")
    .addCommand(fromCatalogCommand(context, make))
    .addCommand(checkCommand(context, make))
    .addCommand(renderCommand(context, make))
    .addCommand(applyCommand(context, make, tools))
    .addCommand(removeCommand(context, make, tools));
}

type Make = (name: string, text: string) => Command;
const fileArgument = "path to the service's table";

function fromCatalogCommand(context: CliContext, make: Make): Command {
  const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
  const command = make(
    "from-catalog",
    "Write a table from the catalog of a service broker. Needs no cluster.",
  )
    .option("--url <url>", "address of the broker")
    .option("--file <file>", "read the catalog from a file instead (JSON)")
    .option("--username <name>", "user name at the broker")
    .option("--password-file <file>", `file with the password, - for stdin (default: ${passwordVariable})`)
    .option("--ca-file <file>", "certificate authorities to trust at the broker (PEM)")
    .option("--service <name>", "service of the catalog; needed if it has several")
    .option("--plan <name...>", "plans to offer (default: all)")
    .option("--to <file>", "write to a file instead of stdout")
    .option("--force", "replace an existing file")
    .action((values: Readonly<Record<string, unknown>>) => {
      const { plan } = values;
      return serviceFromCatalog(context, {
        url: text(values["url"]),
        file: text(values["file"]),
        username: text(values["username"]),
        passwordFile: text(values["passwordFile"]),
        caFile: text(values["caFile"]),
        service: text(values["service"]),
        plans: Array.isArray(plan) ? plan.map(String) : undefined,
        to: text(values["to"]),
        force: values["force"] === true,
      });
    });
  return command;
}

function checkCommand(context: CliContext, make: Make): Command {
  const command = make("check", "Validate a table and report errors with line numbers. Needs no cluster.")
    .argument("<file>", fileArgument)
    .option(...generationFlag)
    .action((file: string) => checkService(context, file, generationOf(command.opts())));
  return command;
}

function renderCommand(context: CliContext, make: Make): Command {
  const command = make("render", "Render the manifests, examples and page of a table to a folder.")
    .argument("<file>", fileArgument)
    .requiredOption("--to <folder>", "folder to write to; created if missing")
    .option(...generationFlag)
    .action((file: string, options: { readonly to: string }) =>
      renderService(context, file, { folder: options.to, generation: generationOf(command.opts()) }),
    );
  return command;
}

function applyCommand(context: CliContext, make: Make, tools: CommandTools): Command {
  const command = make("apply", "Install a table as an API of the control plane, using your own rights.")
    .argument("<file>", fileArgument)
    .option(...generationFlag)
    .option("-d, --dry-run", "validate everything on the API server, without changing anything")
    .option("-o, --output <format>", "output format of the dry run: yaml, json or name")
    .option("--timeout <duration>", "maximum time to wait until the API is served", "2m")
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
export function addControlPlaneFlags(command: Command, tools: CommandTools): void {
  tools.addConnectionFlags(command);
  for (const option of command.options)
    option.description = option.description.replace("the app cluster", "the control plane cluster");
}

function removeCommand(context: CliContext, make: Make, tools: CommandTools): Command {
  const command = make("remove", "Remove a service's API. Refused while claims exist.")
    .argument("<type>", "type of the service, as named in its table")
    .option(...generationFlag)
    .option("-d, --dry-run", "check whether the removal would be refused, without changing anything")
    .action((type: string) =>
      removeService(context, type, {
        ...commonOptions(command.opts(), context.env),
        generation: generationOf(command.opts()),
      }),
    );
  addControlPlaneFlags(command, tools);
  return command;
}
