/** `klutch login`, `klutch templates` and `klutch logout` with their flags. */
import { Command } from "commander";
import type { CommandTools } from "../command-tools.ts";
import type { CliContext } from "../context.ts";
import { loginOptions, readFormat } from "../options.ts";
import { listFormats } from "../overview/table.ts";
import { login } from "./login.ts";
import { logout } from "./logout.ts";
import { templates } from "./templates.ts";

type Values = Readonly<Record<string, unknown>>;

/** The commands for people's scripts. None of them connects to a cluster. */
export function sessionCommands(context: CliContext, tools: CommandTools): readonly Command[] {
  return [loginCommand(context, tools), templatesCommand(context, tools), logoutCommand(context, tools)];
}

function loginCommand(context: CliContext, tools: CommandTools): Command {
  const command = tools
    .prepare(new Command("login"))
    .description("Log in to a provider once, so that later commands bind APIs without a browser.")
    .argument("<url>", "URL of the provider, for example https://klutch.example.com/export")
    .option("--no-browser", "print the login URL instead of opening a browser")
    .option("--device", "log in on another device: print a code and wait")
    .option("--allow-authorize-url <url>", "allow a login page on this other server")
    .option(
      "--login-as <person>",
      "continue without asking if the login has this subject or verified e-mail address, else fail",
    )
    .option("--timeout <duration>", "maximum time to wait for the login", "10m")
    .action((url: string) => login(context, url, loginOptions(command.opts())));
  return command;
}

function templatesCommand(context: CliContext, tools: CommandTools): Command {
  const command = tools
    .prepare(new Command("templates"))
    .description("List the APIs that you may bind at a provider. Needs klutch login. Read-only.")
    .argument("[url]", "URL of the provider (default: the only one that you are logged in at)")
    .option("-o, --output <format>", "output format: wide, json, yaml or name")
    .action((url: string | undefined) => {
      const { output }: Values = command.opts();
      return templates(context, url, readFormat(output, listFormats));
    });
  return command;
}

function logoutCommand(context: CliContext, tools: CommandTools): Command {
  const command = tools
    .prepare(new Command("logout"))
    .description("End the session of klutch login at a provider and forget it here.")
    .argument("[url]", "URL of the provider (default: the only one that you are logged in at)")
    .option("--all", "end the sessions at all providers")
    .action((url: string | undefined) => {
      const { all }: Values = command.opts();
      return logout(context, url, { all: all === true });
    });
  return command;
}
