/** `completion`, which prints a script for a shell, and the hidden word that such a script starts the program with. */
import { kubeconfigNames } from "@klutch/kube";
import { Argument, Command } from "commander";
import { listBindings } from "../app-cluster/bound-resource.ts";
import { connectConsumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { connectionOptions } from "../options.ts";
import { complete, type GivenFlags, type ReadNames } from "./completion.ts";
import { formatCompletion } from "./protocol.ts";
import { completionScript, shells } from "./scripts.ts";

/** Milliseconds that a person at a prompt waits for an app cluster. */
const requestTimeoutMs = 2_000;

/** Prints the completions. Unreadable files and clusters that do not answer complete nothing, and no error is printed. */
export async function printCompletion(
  context: CliContext,
  program: Command,
  words: readonly string[],
): Promise<void> {
  const { env, terminal } = context;
  const readNames: ReadNames = async (kind, given) => {
    try {
      if (kind === "apis") return await boundApis(context, given);
      return (await kubeconfigNames(connectionOptions(given, env)))[kind];
    } catch {
      return [];
    }
  };
  terminal.out(formatCompletion(await complete(program, words, readNames)));
}

async function boundApis({ env, signal }: CliContext, given: GivenFlags): Promise<readonly string[]> {
  const connection = connectionOptions(given, env);
  await using consumer = await connectConsumer({ connection, requestTimeoutMs });
  const limited = AbortSignal.any([signal, AbortSignal.timeout(requestTimeoutMs)]);
  return ((await listBindings(consumer, limited)) ?? []).flatMap(({ metadata }) => metadata.name ?? []);
}

/** `completion <shell>`. */
export function completionCommand(
  { terminal }: CliContext,
  tools: { prepare(command: Command): Command },
): Command {
  return tools
    .prepare(new Command("completion"))
    .description("Print the shell completion script.")
    .addArgument(
      new Argument(
        "<shell>",
        "shell to print the script for; kubectl for completion of kubectl bind",
      ).choices(shells),
    )
    .addHelpText("after", setUp)
    .action((shell: string, _options: unknown, command: Command) => {
      terminal.out(completionScript(shell, command.parent?.name() ?? ""));
    });
}

const setUp = `
Set up, with klutch or kubectl-bind as NAME:
  bash         echo 'source <(NAME completion bash)' >> ~/.bashrc
  zsh          NAME completion zsh > "\${fpath[1]}/_NAME"
  fish         NAME completion fish > ~/.config/fish/completions/NAME.fish
  powershell   NAME completion powershell | Out-String | Invoke-Expression
  kubectl      NAME completion kubectl > kubectl_complete-bind, executable and in PATH, beside kubectl's own completion`;
