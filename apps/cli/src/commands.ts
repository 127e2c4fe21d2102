/** The commands of `klutch` besides `bind`, and how their flags are read. */
import { Command } from "commander";
import type { CommandTools } from "./command-tools.ts";
import type { CliContext } from "./context.ts";
import { CliError } from "./errors.ts";
import { mirror } from "./mirror/mirror.ts";
import { type CommonOptions, commonOptions, registryOption } from "./options.ts";
import { doctor } from "./doctor/doctor.ts";
import { handBack } from "./unbind/hand-back.ts";
import { serviceCommand } from "./service/commands.ts";
import { release } from "./unbind/release.ts";
import { unbind } from "./unbind/unbind.ts";
import { upgradeCommand } from "./upgrade/command.ts";
import { verify } from "./verify/verify.ts";

type Values = Readonly<Record<string, unknown>>;

/** verify, doctor, unbind, release, hand-back, service, upgrade and mirror, for the executable `klutch`. */
export function klutchCommands(context: CliContext, tools: CommandTools): readonly Command[] {
  const unbinding = unbindCommand(context, tools);
  tools.addConnectionFlags(unbinding.option("--timeout <duration>", "longest time to wait", unbindTimeout));
  return [
    verifyCommand(context, tools),
    doctorCommand(context, tools),
    unbinding,
    releaseCommand(context, tools),
    handBackCommand(context, tools),
    serviceCommand(context, tools),
    upgradeCommand(context, tools),
    mirrorCommand(context, tools),
  ];
}

const unbindTimeout = "5m";
const apiArgument = "API as <resource>.<group>, for example postgresqlinstances.anynines.com";

/** `unbind`; as a command of `kubectl bind` it takes connection flags and `--timeout` from there. */
export function unbindCommand(context: CliContext, tools: CommandTools): Command {
  const command = tools
    .prepare(new Command("unbind"))
    .description("End the binding of an API. What exists stays, unless --delete is given.")
    .argument("<api>", apiArgument)
    .option("--delete", "delete the API's objects in this cluster and their counterparts at the provider")
    .option("--yes", "do not ask before deleting")
    .action(async (api: string) => {
      const values: Values = command.optsWithGlobals();
      // `bind` has a longer time of its own.
      const isDefault = command.getOptionValueSourceWithGlobals("timeout") === "default";
      await unbind(context, api, {
        ...common({ ...values, ...(isDefault ? { timeout: unbindTimeout } : {}) }, context),
        delete: values["delete"] === true,
        yes: values["yes"] === true,
      });
    });
  return command;
}

function verifyCommand(context: CliContext, tools: CommandTools): Command {
  const command = tools
    .prepare(new Command("verify"))
    .description("Compare an app cluster with its control plane and report what is wrong. Reads only.")
    .argument("<app-cluster>", "kubeconfig of the app cluster")
    .argument("<control-plane>", "kubeconfig of the control plane cluster")
    .option(
      "-n, --namespace <name>",
      "cluster namespace at the control plane (default: the kubeconfig's namespace)",
    )
    .option("-o, --output <format>", "json")
    .action(async (consumerKubeconfig: string, providerKubeconfig: string) => {
      const { namespace, output }: Values = command.opts();
      if (output !== undefined && output !== "json") {
        throw new CliError(
          "Usage",
          `-o ${JSON.stringify(output)} is not known; use json, or leave it out for text.`,
        );
      }
      await verify(context, {
        consumerKubeconfig,
        providerKubeconfig,
        namespace: typeof namespace === "string" ? namespace : undefined,
        output,
      });
    });
  return command;
}

function doctorCommand(context: CliContext, tools: CommandTools): Command {
  const command = tools
    .prepare(new Command("doctor"))
    .description("Find what is wrong with Klutch in an app cluster.")
    .option(
      "--fix",
      "write the konnector's roles as they must be, and delete those of APIs that are not bound",
    )
    .action(async () => {
      const values: Values = command.opts();
      await doctor(context, { ...common(values, context), fix: values["fix"] === true });
    });
  tools.addConnectionFlags(command);
  return command;
}

function releaseCommand(context: CliContext, tools: CommandTools): Command {
  const command = tools
    .prepare(new Command("release"))
    .description("Apply a schema change or deletions that the konnector holds back.")
    .argument("<api>", apiArgument)
    .action(async (api: string) => {
      await release(context, api, common(command.opts(), context));
    });
  tools.addConnectionFlags(command);
  return command;
}

function handBackCommand(context: CliContext, tools: CommandTools): Command {
  const command = tools
    .prepare(new Command("hand-back"))
    .description("Remove this konnector's finalizer and annotations, before another konnector takes over.")
    .argument("[api...]", `${apiArgument}; all bound APIs when none is given`)
    .option("-d, --dry-run", "show what would be removed; change nothing")
    .action(async (apis: readonly string[]) => {
      await handBack(context, apis, common(command.opts(), context));
    });
  tools.addConnectionFlags(command);
  return command;
}

function mirrorCommand(context: CliContext, tools: CommandTools): Command {
  return tools
    .prepare(new Command("mirror"))
    .description("Copy a release into another registry, and write manifests that name it there.")
    .argument("<folder>", "folder that the offline archive of the release was unpacked to")
    .requiredOption("--registry <host[/path]>", "registry that gets the artefacts")
    .option("--out <folder>", "folder that gets the manifests", "klutch-bundles")
    .option("--username <name>", "who logs in at the registry; without it whoever did by docker login")
    .option("--password-stdin", "read the password from standard input; goes together with --username")
    .option(
      "--token-server <host[:port]>",
      "server besides the registry's own that may get the password, for tokens; may be repeated",
      (host: string, before: readonly string[]) => [...before, host],
      [],
    )
    .action(async (folder: string, values: MirrorFlags) => {
      const registry = registryOption(values);
      if (registry === undefined) throw new CliError("Usage", "--registry is missing.");
      const { out, username, tokenServer: tokenServers } = values;
      if ((username === undefined) === (values.passwordStdin === true))
        throw new CliError("Usage", "--username and --password-stdin belong together.");
      await mirror(context, { folder, registry, out, username, tokenServers });
    });
}

/** As commander gives them. */
type MirrorFlags = Values & {
  readonly out: string;
  readonly username?: string;
  readonly passwordStdin?: true;
  readonly tokenServer: readonly string[];
};

function common(values: Values, { env }: CliContext): CommonOptions {
  return commonOptions(values, env);
}
