/** `klutch service from-catalog`: a broker's catalog becomes a service table, which a person edits. */
import { readFile, writeFile } from "node:fs/promises";
import { printable } from "@klutch/api";
import { parsePlacedYaml } from "@klutch/kube";
import { CatalogError, describeFault, readTable, services, tableFromCatalog } from "@klutch/services";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { counted } from "../findings.ts";
import { type CatalogSource, readCatalog } from "./catalog-source.ts";

/** Flags of `service from-catalog`. */
export interface FromCatalogOptions extends CatalogSource {
  readonly service: string | undefined;
  readonly plans: readonly string[] | undefined;
  /** File that gets the table. Default: standard output. */
  readonly to: string | undefined;
  /** Replace an existing file. */
  readonly force: boolean;
}

/** Runs the command. Warnings and open points go to standard error, one line each. */
export async function serviceFromCatalog(context: CliContext, options: FromCatalogOptions): Promise<void> {
  const { terminal } = context;
  const { service, plans, to, force } = options;
  const { document, source } = await readCatalog(context, options);
  const { text, warnings } = written(() => tableFromCatalog(document, { service, plans, source }), context);
  if (to === undefined) terminal.out(text);
  else await writeTable(to, text, force);
  for (const warning of warnings) terminal.say(`warning: ${printable(warning, 1000)}`);
  const { faults } = readTable(parsePlacedYaml(text), services());
  for (const fault of faults) terminal.say(`to fill in: ${describeFault(to ?? "table", fault)}`);
  const open = faults.length === 0 ? "" : `, after ${counted(faults.length, "fault")}`;
  const next = to === undefined ? "" : ` Then run: klutch service check ${to}`;
  terminal.say(`Edit the lines with Decide${open}.${next}`);
}

function written<T>(write: () => T, { terminal }: CliContext): T {
  try {
    return write();
  } catch (cause) {
    if (!(cause instanceof CatalogError)) throw cause;
    const [first = "", ...others] = cause.faults.map((fault) => printable(fault, 3000));
    if (others.length === 0) throw new CliError("Manifest", `${first}. Nothing was written.`, { cause });
    for (const fault of [first, ...others]) terminal.say(fault);
    throw new CliError("Manifest", `The catalog has ${cause.faults.length} faults. Nothing was written.`, {
      cause,
    });
  }
}

async function writeTable(path: string, text: string, force: boolean): Promise<void> {
  try {
    await writeFile(path, text, { flag: force ? "w" : "wx" });
  } catch (cause) {
    const isThere = await readFile(path).then(
      () => true,
      () => false,
    );
    const reason =
      isThere && !force ? "exists; choose another name, or replace it with --force" : "cannot be written";
    throw new CliError("Manifest", `${printable(path)} ${reason}. Nothing was written.`, { cause });
  }
}
