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
      "Upgrade an app cluster to this release: its konnector, roles and policies. With --check, preview an upgrade of a control plane or an app cluster.",
    )
    .option("--check", "only show what changes and what blocks the upgrade, without changing anything")
    .option("--registry <host[/path]>", "registry to take the konnector's image from, such as a mirror")
    .option("--yes", "give accepted rights that the konnector lacks without a question")
    .option(acceptFlag, "accept that this release takes over an installation of Klutch in Go")
    .option("-o, --output <format>", "output format: json")
    .action(async () => {
      const { output, ...values }: Readonly<Record<string, unknown>> = command.opts();
      await upgrade(context, {
        ...commonOptions(values, context.env),
        claims: values["yes"] === true ? "accept" : "ask",
        check: values["check"] === true,
        acceptsTakeOver: values["acceptTakeOver"] === true,
        output: readFormat(output, ["json"]),
      });
    });
  tools.addConnectionFlags(command);
  return command;
}
