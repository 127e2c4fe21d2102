/** `klutch upgrade` and its flags. */
import { Command } from "commander";
import type { CommandTools } from "../command-tools.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { commonOptions } from "../options.ts";
import { acceptFlag } from "./take-over-app-cluster.ts";
import { upgrade } from "./upgrade.ts";

/** The command, for the executable `klutch`. */
export function upgradeCommand(context: CliContext, tools: CommandTools): Command {
  const command = tools
    .prepare(new Command("upgrade"))
    .description(
      "Say what an upgrade of the control plane or of an app cluster to this release would change, and what stands against it. Reads only.",
    )
    .option("--check", "look at the cluster of the kubeconfig; without it the command does nothing")
    .option(acceptFlag, "an installation of Klutch in Go is to be taken over in place")
    .option("-o, --output <format>", "json")
    .action(async () => {
      const { output, ...values }: Readonly<Record<string, unknown>> = command.opts();
      if (output !== undefined && output !== "json")
        throw new CliError(
          "Usage",
          `-o ${JSON.stringify(output)} is not known; use json, or leave it out for text.`,
        );
      await upgrade(context, {
        ...commonOptions(values, context.env),
        check: values["check"] === true,
        acceptsTakeOver: values["acceptTakeOver"] === true,
        output,
      });
    });
  tools.addConnectionFlags(command);
  return command;
}
