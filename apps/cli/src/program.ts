/** Commands and flags. One executable with two names: `kubectl-bind` is the command `bind` of `klutch`. */
import { klutchVersion } from "@klutch/api";
import { systemClock } from "@klutch/kube";
import { Command, CommanderError, Option } from "commander";
import { bind } from "./bind/bind.ts";
import { bindApiService } from "./bind/bind-apiservice.ts";
import type { CliContext } from "./context.ts";
import { errorText } from "./errors.ts";
import { CouldNotLookError, NotWellError } from "./findings.ts";
import type { CommandTools } from "./command-tools.ts";
import { klutchCommands, unbindCommand } from "./commands.ts";
import { type CommandDescription, describeCommand } from "./command-tree.ts";
import { completionCommand, printCompletion } from "./completion/command.ts";
import { addConnectionFlags, addConnectionHint, listConnectionFlags, shortenHelp } from "./help.ts";
import { completionWord } from "./names.ts";
import { bindApiServiceOptions, bindOptions } from "./options.ts";
import { safeTerminal } from "./safe-terminal.ts";

/**
 * Runs one command line. Returns the exit code: 0, or after one message on standard error 1, or 2 when a check could not look at what it
 * checks. `explain` and `status` return 2 if what they printed is not well.
 */
export async function runCli(name: string, args: readonly string[], outside: CliContext): Promise<number> {
  const context: CliContext = { ...outside, terminal: safeTerminal(outside.terminal) };
  try {
    const program = createProgram(name, context);
    if (args[0] === completionWord) await printCompletion(context, program, args.slice(1));
    else await program.parseAsync(withoutValues(args), { from: "user" });
    return 0;
  } catch (error) {
    // Commander has printed help, version or its message already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 1;
    // Its output has said everything.
    if (error instanceof NotWellError) return 2;
    const shown: unknown = context.signal.aborted ? context.signal.reason : error;
    context.terminal.say(`error: ${errorText(shown)}`);
    if (context.env["KLUTCH_DEBUG"] === "1" && error instanceof Error) {
      context.terminal.say(error.stack ?? "");
    }
    return error instanceof CouldNotLookError ? 2 : 1;
  }
}

/** Every command of `klutch`; `kubectl bind` is its command `bind`. */
export function commandTree(): CommandDescription {
  return describeCommand(createProgram("klutch", unused));
}

/** Commands that are only described run nothing. */
const unused: CliContext = {
  terminal: {
    interactive: false,
    out: () => undefined,
    say: () => undefined,
    waiting: () => () => undefined,
    readLine: async () => undefined,
    readAll: async () => "",
    confirm: async () => undefined,
  },
  env: {},
  clock: systemClock,
  signal: new AbortController().signal,
  openBrowser: () => undefined,
};

/** Go programs take `--flag=true`; scripts that were written for the existing plugin pass such values. */
function withoutValues(args: readonly string[]): string[] {
  return args.flatMap((arg) => {
    const match = /^(--[a-z-]+)=(true|false)$/.exec(arg);
    if (match?.[1] === undefined) return [arg];
    return match[2] === "true" ? [match[1]] : [];
  });
}

function createProgram(name: string, context: CliContext): Command {
  if (name !== "klutch") return bindCommand("kubectl-bind", context).version(klutchVersion);
  const klutch = prepare(new Command("klutch"), context)
    .description("Use the APIs of a control plane cluster in your own cluster.")
    .version(klutchVersion)
    .addCommand(bindCommand("bind", context));
  for (const command of klutchCommands(context, toolsOf(context))) klutch.addCommand(command);
  return klutch.addCommand(completionCommand(context, toolsOf(context))).addCommand(optionsCommand(context));
}

function optionsCommand(context: CliContext): Command {
  return listConnectionFlags(prepare(new Command("options"), context), (text) => context.terminal.out(text));
}

function toolsOf(context: CliContext): CommandTools {
  return { prepare: (command) => prepare(command, context), addConnectionFlags };
}

function prepare(command: Command, context: CliContext): Command {
  return shortenHelp(command)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.terminal.out(text),
      writeErr: (text) => context.terminal.say(text.trimEnd()),
    });
}

function bindCommand(name: string, context: CliContext): Command {
  const command = prepare(new Command(name), context)
    .description("Bind APIs of a provider to the current cluster.")
    .argument("[url]", "URL of the provider, for example https://klutch.example.com/export")
    .option("--no-browser", "print the login URL instead of opening a browser")
    .option("--device", "log in on another device: print a code and wait; needs --service, --api or --all")
    .option("--login", "log in again, even if klutch login left a session that still counts")
    .option("--allow-authorize-url <url>", "allow a login page on this other server")
    .option(
      "--cluster-name <name>",
      "name of this cluster for the provider's operators (default: the kubeconfig context)",
    )
    .option(
      "--login-as <person>",
      "continue without asking if the login has this subject or verified e-mail address, else fail",
    )
    .option(
      "--api <names>",
      "APIs to select on the login page, separated by commas: <resource>.<group>, or <resource> if unique; can be repeated",
      (names: string, before: readonly string[] | undefined) => [...(before ?? []), names],
    )
    .option(
      "--service <name>",
      "data service to select on the login page with all its APIs, such as postgresql",
    )
    .option("--all", "select every offered API on the login page")
    .option(
      "--token-file <file>",
      "bind the APIs of --api with the access token in this file (- for standard input) instead of a login, as CI does",
    )
    .addHelpText("after", examples)
    .action(async (url: string | undefined) => {
      if (url === undefined) command.help();
      else await bind(context, url, bindOptions(command.opts(), context.env));
    });
  addCommonFlags(command);
  command.addCommand(apiServiceCommand(context));
  const unbinding = unbindCommand(context, toolsOf(context));
  command.addCommand(addConnectionHint(shortenHelp(unbinding, { showGlobalOptions: true })));
  if (name === "kubectl-bind")
    command.addCommand(completionCommand(context, toolsOf(context))).addCommand(optionsCommand(context));
  return command;
}

const examples = `
Examples:
  # Log in to a provider in the browser and choose APIs there
  kubectl bind https://klutch.example.com/export

  # Select all APIs of PostgreSQL on the page: instances, bindings, backups and restores
  kubectl bind https://klutch.example.com/export --service postgresql

  # Select two APIs by name
  kubectl bind https://klutch.example.com/export --api postgresqlinstances,servicebindings

  # Bind in CI with an access token of a client that the provider's operator named
  kubectl bind https://klutch.example.com/export --api postgresqlinstances.anynines.com --token-file token --accept-permissions

  # Log in from a machine without a browser, with a code that you type on another one
  kubectl bind https://klutch.example.com/export --device --service postgresql

  # Bind with the session of klutch login, without another login
  kubectl bind https://klutch.example.com/export --service postgresql

  # Log in, and accept the permission claims without a question
  kubectl bind https://klutch.example.com/export --accept-permissions

  # Bind the API of a manifest with a kubeconfig of the provider. No person logs in, as scripts need it
  kubectl bind apiservice --remote-kubeconfig provider.kubeconfig -f request.yaml`;

function apiServiceCommand(context: CliContext): Command {
  const command = shortenHelp(prepare(new Command("apiservice"), context), { showGlobalOptions: true })
    .description("Bind the APIs of an APIServiceExportRequest, using a kubeconfig of the provider.")
    .argument("[url]", "URL of the manifest, unless -f is set")
    .option("-f, --file <path>", "file with the APIServiceExportRequest manifest; - reads standard input")
    .option("--remote-kubeconfig <path>", "path to the kubeconfig of the provider")
    .option(
      "--remote-kubeconfig-namespace <name>",
      "namespace of the Secret that contains the provider's kubeconfig",
    )
    .option(
      "--remote-kubeconfig-name <name>",
      "name of the Secret that contains the provider's kubeconfig, under the key kubeconfig",
    )
    .option("--remote-namespace <name>", "namespace at the provider (default: the kubeconfig's namespace)")
    .action(async (url: string | undefined) => {
      await bindApiService(context, url, bindApiServiceOptions(command.optsWithGlobals(), url, context.env));
    });
  return addConnectionHint(command);
}

function addCommonFlags(command: Command): void {
  command
    .option("-d, --dry-run", "print the objects that would be written, without changing either cluster")
    .option("-o, --output <format>", "output format: yaml, json or name")
    .option("--show-managed-fields", "keep managedFields when printing objects in YAML or JSON")
    .option("--skip-konnector", "do not install or change the konnector")
    .option("--konnector-image <image>", "image of the konnector to install; overrides --skip-konnector")
    .option("--registry <host[/path]>", "registry to take the konnector's image from, such as a mirror")
    .option("--downgrade-konnector", "replace a konnector that is newer than this plugin")
    .option(
      "--accept-permissions",
      "accept permission claims without asking, except those that require a person's decision",
    )
    .option("--reject-permissions", "reject all optional permission claims without asking")
    .option(
      "--marks-at-admission",
      "let the app cluster give new claims their finalizer when they are created (Kubernetes 1.36 or newer)",
    )
    .option(
      "--follow-updates <line>",
      "let the konnector run versions that the control plane wants: patch, minor or none",
    )
    .option("--timeout <duration>", "maximum time for each wait", "10m");
  addConnectionFlags(command);
  for (const flags of ignoredFlags) command.addOption(new Option(flags).hideHelp());
}

/** Flags of the existing plugin that scripts may pass and that change nothing here. */
const ignoredFlags = [
  "--no-banner",
  "--cache-dir <path>",
  "--disable-compression",
  "--allow-missing-template-keys [value]",
  "-v, --v <level>",
  "--vmodule <pattern>",
  "--logging-format <format>",
  "--log-flush-frequency <duration>",
] as const;
