/** The commands of `klutch` besides `bind`, and how their flags are read. */
import { Command } from "commander";
import type { CommandTools } from "./command-tools.ts";
import type { CliContext } from "./context.ts";
import { costCommand } from "./cost/command.ts";
import { CliError } from "./errors.ts";
import { mirror } from "./mirror/mirror.ts";
import { type CommonOptions, commonOptions, readFormat, registryOption } from "./options.ts";
import { doctor } from "./doctor/doctor.ts";
import { explainCommand } from "./explain/command.ts";
import { handBack } from "./unbind/hand-back.ts";
import { overviewCommands } from "./overview/commands.ts";
import { serviceCommand } from "./service/commands.ts";
import { sessionCommands } from "./session/commands.ts";
import { tenantCommands } from "./tenants/commands.ts";
import { release } from "./unbind/release.ts";
import { unbind } from "./unbind/unbind.ts";
import { unbindAll } from "./unbind/unbind-all.ts";
import { upgradeCommand } from "./upgrade/command.ts";
import { verify } from "./verify/verify.ts";

type Values = Readonly<Record<string, unknown>>;

/** The commands of the executable `klutch` besides `bind`, in the order of its help. */
export function klutchCommands(context: CliContext, tools: CommandTools): readonly Command[] {
  const unbinding = unbindCommand(context, tools);
  unbinding
    .option("-d, --dry-run", "say what would be done, without changing either cluster")
    .option("--timeout <duration>", "maximum time to wait", unbindTimeout);
  tools.addConnectionFlags(unbinding);
  return [
    verifyCommand(context, tools),
    doctorCommand(context, tools),
    explainCommand(context, tools),
    ...overviewCommands(context, tools),
    unbinding,
    releaseCommand(context, tools),
    handBackCommand(context, tools),
    serviceCommand(context, tools),
    upgradeCommand(context, tools),
    ...tenantCommands(context, tools),
    costCommand(context, tools),
    ...sessionCommands(context, tools),
    mirrorCommand(context, tools),
  ];
}

const unbindTimeout = "5m";
const apiArgument = "API in the form <resource>.<group>, for example postgresqlinstances.anynines.com";

/** `unbind`; as a command of `kubectl bind` it takes connection flags and `--timeout` from there. */
export function unbindCommand(context: CliContext, tools: CommandTools): Command {
  const command = tools
    .prepare(new Command("unbind"))
    .description("Unbind an API, or all of them. Existing objects are kept unless --delete is set.")
    .argument("[api]", `${apiArgument}; omitted with --all`)
    .option("--all", "unbind every API, then remove the konnector and namespace klutch-bind")
    .option("--keep-konnector", "with --all: keep the konnector and its namespace")
    .option("--delete", "delete the API's objects, both in this cluster and at the provider")
    .option("--yes", "do not ask for confirmation")
    .action(async (api: string | undefined) => {
      const values: Values = command.optsWithGlobals();
      // `bind` has a longer time of its own.
      const isDefault = command.getOptionValueSourceWithGlobals("timeout") === "default";
      const options = {
        ...common({ ...values, ...(isDefault ? { timeout: unbindTimeout } : {}) }, context),
        delete: values["delete"] === true,
        yes: values["yes"] === true,
      };
      const keepKonnector = values["keepKonnector"] === true;
      if (values["all"] === true && api === undefined)
        return unbindAll(context, { ...options, keepKonnector });
      if (api === undefined || values["all"] === true)
        throw new CliError("Usage", "Name one API, or pass --all to unbind every API: not both.");
      if (keepKonnector)
        throw new CliError(
          "Usage",
          "--keep-konnector needs --all: unbinding one API keeps the konnector anyway.",
        );
      return unbind(context, api, options);
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
      "cluster namespace in the control plane (default: the kubeconfig's, or that of the app cluster's credentials)",
    )
    .option("-o, --output <format>", "output format: json")
    .action(async (consumerKubeconfig: string, providerKubeconfig: string) => {
      const { namespace, output }: Values = command.opts();
      await verify(context, {
        consumerKubeconfig,
        providerKubeconfig,
        namespace: typeof namespace === "string" ? namespace : undefined,
        output: readFormat(output, ["json"]),
      });
    });
  return command;
}

function doctorCommand(context: CliContext, tools: CommandTools): Command {
  const command = tools
    .prepare(new Command("doctor"))
    .description("Diagnose Klutch in an app cluster.")
    .option("--fix", "repair the konnector's roles, and delete the roles of unbound APIs")
    .option("--yes", "with --fix: give accepted rights that are missing without a question")
    .option("-o, --output <format>", "output format: json")
    .addHelpText("after", "\nExit codes: 0 no problem, 1 problems found, 2 could not look.")
    .action(async () => {
      const { output, ...values }: Values = command.opts();
      const fix = values["fix"] === true;
      const claims = values["yes"] === true ? "accept" : "ask";
      await doctor(context, {
        ...common(values, context),
        claims,
        fix,
        output: readFormat(output, ["json"]),
      });
    });
  tools.addConnectionFlags(command);
  return command;
}

function releaseCommand(context: CliContext, tools: CommandTools): Command {
  const command = tools
    .prepare(new Command("release"))
    .description("Release a schema change or deletions that the konnector holds back.")
    .argument(
      "<api>",
      `${apiArgument}; or namespace/<name>, for all claims of a namespace that is being deleted`,
    )
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
    .option(
      "--accept-copies",
      "hand back cluster-scoped claims for which a konnector in Go makes second, empty objects",
    )
    .action(async (apis: readonly string[]) => {
      const values: Values = command.opts();
      const acceptCopies = values["acceptCopies"] === true;
      await handBack(context, apis, { ...common(values, context), acceptCopies });
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
