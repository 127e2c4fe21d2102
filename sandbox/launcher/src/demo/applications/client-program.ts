/** Runs the command-line client of a data server, as a person would. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { DebianPrograms } from "@klutch/engines";
import { inheritedEnvironment } from "../../environment.ts";
import type { Credentials } from "./application.ts";

const run = promisify(execFile);

/** One run of a client. */
export interface ClientCall {
  readonly programs: DebianPrograms;
  readonly program: string;
  /** `authority`: path of a file with the certificate authority of the credentials. The arguments are public, so no password is among them. */
  readonly args: (authority: string) => readonly string[];
  /** Environment with the password for the client. */
  readonly env: Readonly<Record<string, string>>;
}

/** Returns the client's output. Throws with its error text if it fails. */
export async function runClient({ cacrt = "" }: Credentials, call: ClientCall): Promise<string> {
  const { programs, program, args, env } = call;
  const folder = await mkdtemp(join(tmpdir(), "klutch-client-"));
  try {
    const authority = join(folder, "ca.crt");
    await writeFile(authority, cacrt);
    const { stdout } = await run(programs.path(program), [...args(authority)], {
      env: { ...inheritedEnvironment, ...programs.env, ...env },
    });
    return stdout.trim();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
