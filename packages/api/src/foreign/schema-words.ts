/** Words of a foreign schema: `kubectl explain` and the errors of an API server show them on people's terminals as they are. */
import { harmlessText, isRecord, printable } from "@klutch/kube-core";

type Schema = Readonly<Record<string, unknown>>;
/** A schema with harmless words, or where a name or value in it is not. */
export type SchemaReading =
  | { readonly schema: Schema; readonly problem?: undefined }
  | { readonly schema?: undefined; readonly problem: string };

/** Fields that hold sentences. All other texts mean something to a server, so they stay as they are or the schema is refused. */
const sentences: ReadonlySet<string> = new Set(["description", "title", "message"]);
/** Holds an expression in which an escape makes any character. */
const computed = "messageExpression";
/** Control characters besides tab, line feed and carriage return: what steers a terminal begins with one. */
const steering = /[\p{Cc}--[\t\n\r]]/v;
const shownLength = 40;

/** Cleans the sentences of a schema and leaves out computed messages with escapes. Returns the same schema if it has neither. */
export function withHarmlessWords(schema: Schema): SchemaReading {
  const reader = new Reader();
  const cleaned = reader.fields(schema, "openAPIV3Schema");
  return reader.problem === undefined ? { schema: cleaned } : { problem: reader.problem };
}

class Reader {
  problem: string | undefined;

  fields(value: Schema, path: string): Schema {
    const fields = Object.entries(value).flatMap(([name, field]) => {
      this.#judge(name, path);
      if (name === computed && typeof field === "string" && field.includes("\\")) return [];
      if (sentences.has(name) && typeof field === "string") return [[name, harmlessText(field)] as const];
      return [[name, this.#value(field, `${path}.${name}`)] as const];
    });
    const isSame =
      fields.length === Object.keys(value).length && fields.every(([name, field]) => field === value[name]);
    return isSame ? value : Object.fromEntries(fields);
  }

  #value(value: unknown, path: string): unknown {
    if (typeof value === "string") this.#judge(value, path);
    if (isRecord(value)) return this.fields(value, path);
    if (!Array.isArray(value)) return value;
    const items: readonly unknown[] = value.map((item, index) => this.#value(item, `${path}[${index}]`));
    return items.every((item, index) => item === value[index]) ? value : items;
  }

  #judge(text: string, path: string): void {
    if (this.problem !== undefined || !steering.test(text)) return;
    const shown = printable(text.slice(0, shownLength));
    this.problem = `${path}: has control characters in "${shown}", which would reach people's terminals`;
  }
}
