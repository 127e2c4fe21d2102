/** Whether this machine can have nodes. */
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { type Hierarchy, ownHierarchies } from "./cgroups.ts";
import { run } from "./command.ts";
import { NodeError } from "./errors.ts";
import { namespaceFlags } from "./namespaces.ts";

/** What it lacks, in a sentence; undefined when a node can be tried. Changes nothing. */
export async function whyUnfit(): Promise<string | undefined> {
  try {
    await requireFitness();
    return undefined;
  } catch (error) {
    if (error instanceof NodeError) return error.message;
    throw error;
  }
}

/** Throws `NodeError` Unfit with the first thing that the machine lacks. */
export async function requireFitness(): Promise<void> {
  if (process.platform !== "linux") throw unfit(`a node needs Linux, and this is ${process.platform}`);
  if (process.getuid?.() !== 0) throw unfit("a node needs root");
  for (const hierarchy of await ownHierarchies()) await requireWritable(hierarchy);
  await attempt("this machine does not let root make namespaces", {
    command: "unshare",
    args: [...namespaceFlags, "nsenter", "--version"],
  });
  // In a network of its own, so that nobody sees it.
  const bridge = ["ip", "link", "add", "name", "klutch-try", "type", "bridge"];
  await attempt("this machine has no network bridges", { command: "unshare", args: ["--net", ...bridge] });
}

async function requireWritable({ folder, name }: Hierarchy): Promise<void> {
  await access(folder, constants.W_OK).catch((cause: unknown) => {
    throw new NodeError("Unfit", `the cgroups of ${name} in ${folder} cannot be written`, { cause });
  });
}

async function attempt(problem: string, command: Parameters<typeof run>[0]): Promise<void> {
  await run(command).catch((cause: unknown) => {
    const words = cause instanceof Error ? cause.message : String(cause);
    throw new NodeError("Unfit", `${problem}: ${words}`, { cause });
  });
}

const unfit = (message: string): NodeError => new NodeError("Unfit", message);
