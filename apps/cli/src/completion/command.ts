/** `completion`, which prints a script for a shell, and the hidden word that such a script starts the program with. */
import { kubeconfigNames } from "@klutch/kube";
import { Argument, Command } from "commander";
import type { CliContext } from "../context.ts";
import { complete, type ReadNames } from "./completion.ts";
import { formatCompletion } from "./protocol.ts";
import { completionScript, shells } from "./scripts.ts";

/** Prints the completions. Unreadable files complete nothing, and no error is printed. */
export async function printCompletion(
  { env, terminal }: CliContext,
  program: Command,
  words: readonly string[],
): Promise<void> {
  const readNames: ReadNames = async (kind, path) => {
    try {
      return (await kubeconfigNames({ path, env }))[kind];
    } catch {
      return [];
    }
  };
  terminal.out(formatCompletion(await complete(program, words, readNames)));
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
