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
  tools.addConnectionFlags(unbinding.option("--timeout <duration>", "maximum time to wait", unbindTimeout));
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
const apiArgument = "API in the form <resource>.<group>, for example postgresqlinstances.anynines.com";

/** `unbind`; as a command of `kubectl bind` it takes connection flags and `--timeout` from there. */
export function unbindCommand(context: CliContext, tools: CommandTools): Command {
  const command = tools
    .prepare(new Command("unbind"))
    .description("Unbind an API. Existing objects are kept unless --delete is set.")
    .argument("<api>", apiArgument)
    .option("--delete", "delete the API's objects, both in this cluster and at the provider")
    .option("--yes", "delete without asking for confirmation")
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
    .description("Compare an app cluster with its control plane and report differences. Read-only.")
    .argument("<app-cluster>", "path to the kubeconfig of the app cluster")
    .argument("<control-plane>", "path to the kubeconfig of the control plane cluster")
    .option(
      "-n, --namespace <name>",
      "cluster namespace in the control plane (default: the kubeconfig's namespace)",
    )
    .option("-o, --output <format>", "output format: json")
    .action(async (consumerKubeconfig: string, providerKubeconfig: string) => {
      const { namespace, output }: Values = command.opts();
      if (output !== undefined && output !== "json") {
        throw new CliError(
          "Usage",
          `Unknown output format -o ${JSON.stringify(output)}: use json, or omit the flag for text.`,
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
    .description("Diagnose Klutch in an app cluster.")
    .option("--fix", "repair the konnector's roles, and delete the roles of unbound APIs")
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
    .description("Release a schema change or deletions that the konnector holds back.")
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
    .description("Remove this konnector's finalizers and annotations before another konnector takes over.")
    .argument("[api...]", `${apiArgument} (default: all bound APIs)`)
    .option("-d, --dry-run", "print what would be removed, without changing anything")
    .action(async (apis: readonly string[]) => {
      await handBack(context, apis, common(command.opts(), context));
    });
  tools.addConnectionFlags(command);
  return command;
}

function mirrorCommand(context: CliContext, tools: CommandTools): Command {
  return tools
    .prepare(new Command("mirror"))
    .description("Copy a release to another registry and write manifests that use it.")
    .argument("<folder>", "folder with the unpacked offline archive of the release")
    .requiredOption("--registry <host[/path]>", "registry to copy the artefacts to")
    .option("--out <folder>", "folder to write the manifests to", "klutch-bundles")
    .option(
      "--username <name>",
      "user name for the registry (default: the credentials saved by docker login)",
    )
    .option("--password-stdin", "read the registry password from standard input; requires --username")
    .option(
      "--token-server <host[:port]>",
      "additional token server that may receive the password; can be repeated",
      (host: string, before: readonly string[]) => [...before, host],
      [],
    )
    .action(async (folder: string, values: MirrorFlags) => {
      const registry = registryOption(values);
      if (registry === undefined)
        throw new CliError("Usage", "--registry is required: pass the registry to copy the release to.");
      const { out, username, tokenServer: tokenServers } = values;
      if ((username === undefined) === (values.passwordStdin === true))
        throw new CliError("Usage", "--username and --password-stdin must be used together.");
      await mirror(context, { folder, registry, out, username, tokenServers });
    });
}

/** Flags of `klutch mirror` as commander returns them. */
type MirrorFlags = Values & {
  readonly out: string;
  readonly username?: string;
  readonly passwordStdin?: true;
  readonly tokenServer: readonly string[];
};

function common(values: Values, { env }: CliContext): CommonOptions {
  return commonOptions(values, env);
}
