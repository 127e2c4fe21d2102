/** `klutch upgrade` and its flags. */
import { Command } from "commander";
import type { CommandTools } from "../command-tools.ts";
import type { CliContext } from "../context.ts";
import { commonOptions, readFormat } from "../options.ts";
import { acceptFlag } from "./take-over-app-cluster.ts";
import { upgrade } from "./upgrade.ts";

/** The command, for the executable `klutch`. */
export function upgradeCommand(context: CliContext, tools: CommandTools): Command {
  const command = tools
    .prepare(new Command("upgrade"))
    .description(
      "Preview an upgrade of a control plane or an app cluster to this release: its changes and what blocks it. Read-only.",
    )
    .option("--check", "check the cluster of the kubeconfig; required, because the command only checks")
    .option(acceptFlag, "accept that this release takes over an installation of Klutch in Go")
    .option("-o, --output <format>", "output format: json")
    .action(async () => {
      const { output, ...values }: Readonly<Record<string, unknown>> = command.opts();
      await upgrade(context, {
        ...commonOptions(values, context.env),
        check: values["check"] === true,
        acceptsTakeOver: values["acceptTakeOver"] === true,
        output: readFormat(output, ["json"]),
      });
    });
  tools.addConnectionFlags(command);
  return command;
}
