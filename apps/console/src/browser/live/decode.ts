/**
 * Turns answers of the server into the types of the wire: the one place that trusts them. It checks the parts that the pages are built on
 * (which collection, rows with ids); the fields of a row come from the same release and are only ever shown as text.
 */
import {
  type ActionDone,
  actionNames,
  type Change,
  type Collection,
  collections,
  type ConsoleError,
  type OfferedAction,
  type RowOf,
  type Viewer,
} from "@klutch/overview/console-wire";
import type { Explanation } from "@klutch/overview/explanation";

/** An answer that is not what the wire promises. */
export class AnswerError extends Error {
  override readonly name = "AnswerError";
}

export type Row = RowOf[Collection];

export function isCollection(value: unknown): value is Collection {
  return collections.some((name) => name === value);
}

/** Leaves out collections that this release of the pages does not know. */
export function decodeViewer(value: unknown): Viewer {
  const fields = record(value, "viewer");
  if (!Array.isArray(fields["collections"]))
    throw new AnswerError("the answer about you has no list of collections");
  return { ...fields, collections: fields["collections"].filter(isCollection) } as unknown as Viewer;
}

/** Returns the rows of `collection`. */
export function decodeRows(value: unknown, collection: Collection): readonly Row[] {
  const fields = record(value, "rows");
  if (fields["collection"] !== collection)
    throw new AnswerError(`the answer is not about the collection ${collection}`);
  return rows(fields["rows"]);
}

/** Returns undefined for a collection that this release of the pages does not know. */
export function decodeChange(value: unknown): Change | undefined {
  const fields = record(value, "change");
  const { collection, removed } = fields;
  if (!isCollection(collection)) return undefined;
  if (!Array.isArray(removed)) throw new AnswerError("a change has no list of removed rows");
  return { collection, upserts: rows(fields["upserts"]), removed: removed.map(String) };
}

export function decodeExplanation(value: unknown): Explanation {
  const fields = record(value, "explanation");
  if (!Array.isArray(fields["steps"]))
    throw new AnswerError("the answer about the claim has no list of steps");
  return fields as unknown as Explanation;
}

/** Leaves out actions that this release of the pages does not know. */
export function decodeOffered(value: unknown): readonly OfferedAction[] {
  const { actions } = record(value, "actions");
  if (!Array.isArray(actions)) throw new AnswerError("the answer has no list of actions");
  return actions
    .map((one: unknown) => record(one, "action"))
    .filter(({ name }) => actionNames.some((known) => known === name))
    .map((fields) => {
      if (!Array.isArray(fields["consequences"]))
        throw new AnswerError("an action has no list of consequences");
      return fields as unknown as OfferedAction;
    });
}

export function decodeDone(value: unknown): ActionDone {
  return { message: String(record(value, "result")["message"]) };
}

/** Words for any failed answer; a proxy's page instead of JSON becomes `otherwise`. */
export function decodeError(value: unknown, otherwise: ConsoleError): ConsoleError {
  if (typeof value !== "object" || value === null) return otherwise;
  const { error, advice } = value as Record<string, unknown>;
  if (typeof error !== "string") return otherwise;
  return { error, advice: typeof advice === "string" ? advice : "" };
}

function record(value: unknown, name: string): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new AnswerError(`the server sent no ${name}`);
}

function rows(value: unknown): readonly Row[] {
  if (!Array.isArray(value)) throw new AnswerError("the answer has no list of rows");
  for (const row of value as readonly unknown[])
    if (typeof record(row, "row")["id"] !== "string") throw new AnswerError("a row has no id");
  return value as readonly Row[];
}
