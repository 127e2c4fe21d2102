/** Turns one service of a broker's catalog into the text of a service table. */
import { isRecord, recordAt } from "@klutch/kube-core";
import { createNotes } from "./notes.ts";
import { CatalogError, type Choice, offeredService } from "./offered-service.ts";
import { catalogParameters } from "./parameters.ts";
import { tableText } from "./table-text.ts";

/** A table from a catalog. */
export interface TableFromCatalog {
  readonly text: string;
  /** Each says in one line which field of the catalog is not taken as it is, and its consequence. */
  readonly warnings: readonly string[];
}

/** Most characters of a table. */
const longestTable = 1_000_000;

/**
 * Writes the table. `document` is the JSON of `GET /v2/catalog`; nothing else is read. Throws `CatalogError`. The text names no
 * broker, and may have faults that `readTable` finds, such as a name that another service has.
 */
export function tableFromCatalog(
  document: unknown,
  { source, ...choice }: Choice & { readonly source: string },
): TableFromCatalog {
  const { warn, list } = createNotes();
  const service = offeredService(document, choice, warn);
  const found = catalogParameters(service.plans, warn);
  const bindParameters = service.plans.flatMap(({ schemas: { bind } }) =>
    isRecord(bind) ? Object.keys(recordAt(bind["properties"])) : [],
  );
  const text = tableText({ ...found, service, source, bindParameters: [...new Set(bindParameters)] });
  if (text.length > longestTable)
    throw new CatalogError([
      `the table of ${service.name} has ${text.length} characters, expected at most ${longestTable}; offer fewer plans with --plan`,
    ]);
  return { text, warnings: list() };
}
