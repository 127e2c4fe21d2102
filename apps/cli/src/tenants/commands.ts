/** `klutch members`, `klutch audit` and `klutch revoke` with their flags. */
import { Command } from "commander";
import type { CommandTools } from "../command-tools.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { commonOptions, readFormat } from "../options.ts";
import { addControlPlaneFlags } from "../service/commands.ts";
import { audit } from "./audit.ts";
import { members } from "./members.ts";
import type { RevokeOptions } from "./revoke.ts";
import { revokeApi } from "./revoke-api.ts";
import { revokeCluster } from "./revoke-cluster.ts";
import { revokeMember } from "./revoke-member.ts";

type Values = Readonly<Record<string, unknown>>;

const tenantArgument = "cluster namespace of one app cluster (default: all)";

/** The commands for operators of a control plane. */
export function tenantCommands(context: CliContext, tools: CommandTools): readonly Command[] {
  const list = (
    name: string,
    text: string,
    run: (
      context: CliContext,
      tenant: string | undefined,
      options: ReturnType<typeof commonOptions>,
    ) => Promise<void>,
  ): Command => {
    const command = tools
      .prepare(new Command(name))
      .description(text)
      .argument("[tenant]", tenantArgument)
      .option("-o, --output <format>", "output format: json")
      .action(async (tenant: string | undefined) => {
        const { output, ...values }: Values = command.opts();
        await run(context, tenant, {
          ...commonOptions(values, context.env),
          output: readFormat(output, ["json"]),
        });
      });
    addControlPlaneFlags(command, tools);
    return command;
  };
  return [
    list("members", "List the people of each app cluster and the APIs they bound. Read-only.", members),
    list("audit", "List who bound what and the events of each app cluster, newest first. Read-only.", audit),
    revokeCommand(context, tools),
  ];
}

function revokeCommand(context: CliContext, tools: CommandTools): Command {
  const make = (name: string, text: string): Command => tools.prepare(new Command(name)).description(text);
  const member = make("member", "Remove a person from all app clusters, with what they bound.")
    .argument(
      "<person>",
      "user name in the control plane's RBAC, such as oidc:ann, or subject of the identity provider",
    )
    .option("--tenant <namespace>", "remove the person from this app cluster only")
    .option("--end-apis", "take away APIs that only this person bound")
    .option("--keep-apis", "take over APIs that only this person bound: you answer for them from now on")
    .action(async (person: string) => {
      const values: Values = member.opts();
      const { tenant, endApis, keepApis } = values;
      if (endApis === true && keepApis === true)
        throw new CliError("Usage", "--end-apis and --keep-apis exclude each other.");
      await revokeMember(context, person, {
        ...revokeOptions(values, context),
        tenant: typeof tenant === "string" ? tenant : undefined,
        apis: endApis === true ? "end" : keepApis === true ? "keep" : undefined,
      });
    });
  const api = make("api", "Take an API away from an app cluster. Its claims and databases stay.")
    .argument("<api>", "API in the form <resource>.<group>, for example postgresqlinstances.anynines.com")
    .requiredOption("--tenant <namespace>", "cluster namespace of the app cluster")
    .action(async (name: string) => {
      const values: Values = api.opts();
      await revokeApi(context, name, String(values["tenant"]), revokeOptions(values, context));
    });
  const cluster = make("cluster", "End all access of an app cluster and keep its people out.")
    .argument("<tenant>", "cluster namespace of the app cluster")
    .action((tenant: string) => revokeCluster(context, tenant, revokeOptions(cluster.opts(), context)));
  const revoke = make("revoke", "Revoke the access of a person or an app cluster to a control plane.");
  for (const command of [member, api, cluster]) {
    command
      .option("-d, --dry-run", "say what would be done, without changing anything")
      .option("--yes", "do not ask for confirmation")
      .option("--timeout <duration>", "maximum time to wait until the backend has revoked", "1m");
    addControlPlaneFlags(command, tools);
    revoke.addCommand(command);
  }
  return revoke;
}

function revokeOptions(values: Values, { env }: CliContext): RevokeOptions {
  return { ...commonOptions(values, env), yes: values["yes"] === true };
}
