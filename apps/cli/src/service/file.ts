/** A service's file, as a command line names it. */
import { readFile } from "node:fs/promises";
import { parsePlacedYaml, YamlTextError } from "@klutch/kube";
import { describeFault, type PlacedFile, readTable, services, type ServiceTable } from "@klutch/services";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { counted } from "../findings.ts";

/** A table without faults, and where its fields stand. */
export interface ServiceFile {
  readonly path: string;
  readonly table: ServiceTable;
  readonly lineOf: PlacedFile["lineOf"];
}

/** Reads it. Prints every fault with its line and throws `CliError` when there are any. */
export async function readServiceFile({ terminal }: CliContext, path: string): Promise<ServiceFile> {
  const file = parsed(await fileText(path), path);
  const type = typeOf(file);
  // A table of the package's own type is taken for another version of that service; the cluster says whether it may be applied.
  const read = readTable(
    file,
    services().filter((service) => service.type !== type),
  );
  if (read.table !== undefined) return { path, table: read.table, lineOf: file.lineOf };
  for (const fault of read.faults) terminal.say(describeFault(path, fault));
  throw new CliError("Manifest", `${path} has ${counted(read.faults.length, "fault")}. Nothing was written.`);
}

function typeOf({ value }: PlacedFile): unknown {
  const metadata: unknown =
    typeof value === "object" && value !== null && "metadata" in value ? value.metadata : {};
  return typeof metadata === "object" && metadata !== null && "name" in metadata ? metadata.name : undefined;
}

/** Reads a file as text. Throws `CliError` that names it. */
export async function fileText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new CliError("Manifest", `${path} cannot be read.`, { cause });
  }
}

function parsed(text: string, path: string): PlacedFile {
  try {
    return parsePlacedYaml(text);
  } catch (cause) {
    if (!(cause instanceof YamlTextError)) throw cause;
    throw new CliError("Manifest", `${path}:${cause.line}: ${cause.message}. Nothing was written.`, {
      cause,
    });
  }
}
