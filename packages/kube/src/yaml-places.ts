/** YAML with the places of its fields, for errors that say a line. */
import { type Event, EVENT_ID, getScalarValue, load, parseEvents, YAMLException } from "js-yaml";

/** One document, and where its fields stand. */
export interface PlacedYaml {
  readonly value: unknown;
  /**
   * Line, from 1, of a field such as `spec.plans[2].name`; of the nearest field around it when it is not in the text, as it is with
   * fields that are missing and with those that an alias brings.
   */
  readonly lineOf: (field: string) => number;
}

/** The text is not one YAML document. */
export class YamlTextError extends Error {
  readonly code = "YamlText";
  /** From 1. */
  readonly line: number;

  constructor(message: string, line: number, cause: unknown) {
    super(message, { cause });
    this.name = "YamlTextError";
    this.line = line;
  }
}

const maxDepth = 50;

/** A document with more values than this, aliases followed, is not read. */
const mostValues = 100_000;

/** Reads one document. Throws `YamlTextError`, also for a document that its aliases blow up. */
export function parsePlacedYaml(text: string): PlacedYaml {
  try {
    const value = load(text, { maxDepth });
    if (countUpTo(value, mostValues) > mostValues) throw new RangeError("the document is too large");
    const places = placesOf(text, parseEvents(text, { maxDepth }));
    return { value, lineOf: (field) => nearest(places, field) };
  } catch (cause) {
    throw new YamlTextError(reasonOf(cause), lineOfError(cause), cause);
  }
}

function reasonOf(cause: unknown): string {
  if (cause instanceof YAMLException) return cause.reason;
  return cause instanceof Error ? cause.message : "the text cannot be read";
}

function lineOfError(cause: unknown): number {
  return cause instanceof YAMLException && cause.mark !== undefined ? cause.mark.line + 1 : 1;
}

function countUpTo(value: unknown, limit: number): number {
  const open = [value];
  let count = 0;
  for (let next = open.pop(); count <= limit; next = open.pop()) {
    count++;
    if (typeof next === "object" && next !== null) for (const item of Object.values(next)) open.push(item);
    if (open.length === 0) break;
  }
  return count;
}

/** An open collection: the path of what comes next in it is made of `path`, and of a key or an index. */
interface Level {
  readonly path: string;
  readonly isList: boolean;
  key: string | undefined;
  index: number;
}

function placesOf(text: string, events: readonly Event[]): ReadonlyMap<string, number> {
  const lineAt = lineCounter(text);
  const places = new Map<string, number>();
  const levels: Level[] = [];
  for (const event of events) {
    const level = levels.at(-1);
    if (event.type === EVENT_ID.DOCUMENT) levels.push({ path: "", isList: false, key: "", index: 0 });
    else if (event.type === EVENT_ID.POP) levels.pop();
    else if (level !== undefined && !level.isList && level.key === undefined) {
      level.key = event.type === EVENT_ID.SCALAR ? getScalarValue(text, event) : "";
      places.set(fieldOf(level), lineAt(startOf(event)));
    } else if (level !== undefined) {
      const path = fieldOf(level);
      // A value of a mapping stands at its key.
      if (!places.has(path)) places.set(path, lineAt(startOf(event)));
      passed(level);
      const isList = event.type === EVENT_ID.SEQUENCE;
      if (isList || event.type === EVENT_ID.MAPPING) levels.push({ path, isList, key: undefined, index: 0 });
    }
  }
  return places;
}

function passed(level: Level): void {
  if (level.isList) level.index++;
  else level.key = undefined;
}

function fieldOf({ path, isList, key = "", index }: Level): string {
  if (isList) return `${path}[${index}]`;
  return path === "" ? key : `${path}.${key}`;
}

function startOf(event: Event): number {
  if (event.type === EVENT_ID.SCALAR) return event.valueStart;
  if (event.type === EVENT_ID.ALIAS) return event.anchorStart;
  return event.type === EVENT_ID.MAPPING || event.type === EVENT_ID.SEQUENCE ? event.start : 0;
}

/** Counts on from the last offset that was asked for; offsets come in the order of the text. */
function lineCounter(text: string): (offset: number) => number {
  let line = 1;
  let counted = 0;
  return (offset) => {
    for (; counted < Math.min(offset, text.length); counted++) if (text[counted] === "\n") line++;
    return line;
  };
}

function nearest(places: ReadonlyMap<string, number>, field: string): number {
  for (let path = field; path !== ""; path = parentOf(path)) {
    const line = places.get(path);
    if (line !== undefined) return line;
  }
  return places.get("") ?? 1;
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf("."), path.lastIndexOf("["), 0));
}
