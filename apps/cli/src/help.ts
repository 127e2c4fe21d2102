/** Help as kubectl shows it: a command's own flags, and one line that names the list of the flags that all commands share (`klutch options`). */
import { type Command, Help, type Option } from "commander";
import { connectionFlags, connectionFlagsIn } from "./connection-flags.ts";

function own(options: readonly Option[]): Option[] {
  const connecting = connectionFlagsIn(options);
  return options.filter(({ flags }) => !connecting.has(flags));
}

/** Leaves the flags of a connection out of a command's help. A command that takes the flags of `bind` shows those after its own. */
export function shortenHelp(
  command: Command,
  { showGlobalOptions = false }: { readonly showGlobalOptions?: boolean } = {},
): Command {
  const usual = Object.assign(new Help(), { showGlobalOptions });
  return command.configureHelp({
    showGlobalOptions,
    visibleOptions: (one) => own(usual.visibleOptions(one)),
    visibleGlobalOptions: (one) => own(usual.visibleGlobalOptions(one)),
  });
}

/** Adds the flags of a connection. The help names where they are listed. */
export function addConnectionFlags(command: Command): void {
  for (const [flags, text, fallback] of connectionFlags) command.option(flags, text, fallback);
  addConnectionHint(command);
}

/** Ends the help of a command that connects with the name of their list. */
export function addConnectionHint(command: Command): Command {
  return command.addHelpText("after", connectionHint);
}

function connectionHint({ command }: { readonly command: Command }): string {
  return `\nUse "${programOf(command) === "klutch" ? "klutch" : "kubectl bind"} options" for the flags that choose the cluster, such as --context and --kubeconfig.`;
}

function programOf(command: Command): string {
  return command.parent === null ? command.name() : programOf(command.parent);
}

/** Makes `command` print the flags of a connection, as `kubectl options` does. */
export function listConnectionFlags(command: Command, print: (text: string) => void): Command {
  command.description("List the flags of every command that connects to a cluster.");
  return command.action(() => {
    const list = command.createCommand("options").helpOption(false);
    for (const [flags, text, fallback] of connectionFlags) list.option(flags, text, fallback);
    const [, items = ""] = list.helpInformation().split("Options:\n");
    print(`These flags can be passed to every command that connects to a cluster:\n${items}`);
  });
}
