/**
 * Finds objects in an API server's JSON without writing them again: their bytes are kept and sent on as they came, so that no number and no
 * unknown field changes on the way.
 */
import { TransportError } from "@klutch/kube";
import { isRecord, numberAt, textAt, valueAt } from "@klutch/kube-core";

/** Types of watch events that carry an object. */
export type ChangeType = "ADDED" | "MODIFIED" | "DELETED";

/** Identity of an object. `namespace` is empty for a cluster-scoped one. */
export interface ObjectIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: number;
}

/** One line of a watch. */
export type WatchLine =
  | {
      readonly type: ChangeType;
      readonly identity: ObjectIdentity;
      /** The line with its end, as it came. */
      readonly line: Buffer;
      /** The object within `line`. */
      readonly object: Buffer;
    }
  | { readonly type: "BOOKMARK"; readonly resourceVersion: number }
  | { readonly type: "ERROR"; readonly code: number; readonly message: string };

/** The answer is not in the form that API servers use. Nothing is served from it. */
export class FormError extends Error {
  readonly code = "Form";

  constructor(message: string) {
    super(message);
    this.name = "FormError";
  }
}

/** Parses a resourceVersion. Throws `FormError` for one that is not a whole number without sign (KEP-5504). */
export function versionOf(text: string | undefined): number {
  if (text === undefined || !/^\d{1,15}$/.test(text))
    throw new FormError(`${JSON.stringify(text)} is not a resourceVersion; it must be a whole number`);
  return Number(text);
}

/** Reads one line, its end included. Throws `FormError`. */
export function readWatchLine(line: Buffer): WatchLine {
  const event = parse(line);
  const type = textAt(event, "type");
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED": {
      const start = `{"type":"${type}","object":`;
      const end = line.length - 2;
      const isUsual = isRecord(event) && Object.keys(event).length === 2 && line[end] === closingBrace;
      if (!isUsual || line.subarray(0, start.length).toString() !== start)
        throw new FormError("an event does not consist of its type and its object, in this order");
      const identity = identityOf(valueAt(event, "object"));
      return { type, identity, line, object: line.subarray(start.length, end) };
    }
    case "BOOKMARK":
      return { type, resourceVersion: versionOf(textAt(event, "object", "metadata", "resourceVersion")) };
    case "ERROR":
      return {
        type,
        code: numberAt(event, "object", "code") ?? 500,
        message: textAt(event, "object", "message") ?? "",
      };
    case undefined:
    default:
      throw new FormError(`${JSON.stringify(type)} is not a type of event`);
  }
}

/** Returns namespace, name and version. Throws `FormError` if it has none. */
function identityOf(object: unknown): ObjectIdentity {
  const name = textAt(object, "metadata", "name") ?? "";
  if (name === "") throw new FormError("an object has no name");
  return {
    namespace: textAt(object, "metadata", "namespace") ?? "",
    name,
    resourceVersion: versionOf(textAt(object, "metadata", "resourceVersion")),
  };
}

/** A list's page. */
export interface ListBytes {
  readonly apiVersion: string;
  readonly kind: string;
  readonly resourceVersion: number;
  /** Empty on the last page. */
  readonly continueToken: string;
  readonly items: readonly { readonly identity: ObjectIdentity; readonly object: Buffer }[];
}

/** Reads a page of a list of custom resources. Throws `FormError`. */
export function readList(bytes: Buffer): ListBytes {
  const list = parse(bytes);
  const values = valueAt(list, "items");
  if (!Array.isArray(values)) throw new FormError("a list has no items");
  const slices = itemSlices(bytes);
  if (slices.length !== values.length) throw new FormError("the items of a list cannot be told apart");
  const kind = textAt(list, "kind") ?? "";
  const apiVersion = textAt(list, "apiVersion") ?? "";
  return {
    apiVersion,
    kind,
    resourceVersion: versionOf(textAt(list, "metadata", "resourceVersion")),
    continueToken: textAt(list, "metadata", "continue") ?? "",
    items: values.map((value: unknown, index) => {
      // Lists of built-in kinds leave both out.
      if (textAt(value, "apiVersion") !== apiVersion || textAt(value, "kind") === undefined)
        throw new FormError("an item of a list has no kind");
      return { identity: identityOf(value), object: slices[index] ?? bytes };
    }),
  };
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch (cause) {
    throw new FormError(`not JSON: ${cause instanceof Error ? cause.name : "unreadable"}`);
  }
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openingBrace, closingBrace, openingBracket, closingBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
const itemsKey = '"items":[';

/** Slices of the elements of the outermost array `items`, in their order; the text is JSON. */
function itemSlices(bytes: Buffer): readonly Buffer[] {
  const slices: Buffer[] = [];
  let depth = 0;
  let itemsDepth = -1;
  let start = -1;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === quote) {
      const isItems =
        depth === 1 && itemsDepth < 0 && bytes.toString("latin1", at, at + itemsKey.length) === itemsKey;
      if (isItems) {
        depth = itemsDepth = 2;
        at += itemsKey.length - 1;
        continue;
      }
      for (at++; bytes[at] !== quote; at++) if (bytes[at] === backslash) at++;
    } else if (byte === openingBrace || byte === openingBracket) {
      if (depth === itemsDepth && start < 0) start = at;
      depth++;
    } else if (byte === closingBrace || byte === closingBracket) {
      depth--;
      if (depth === itemsDepth && start >= 0) {
        slices.push(bytes.subarray(start, at + 1));
        start = -1;
      }
      if (depth < itemsDepth) return slices;
    } else if (byte !== comma) continue;
  }
  return slices;
}

/** Yields the lines of a stream with their ends. Throws `FormError` for a longer line, `TransportError` for one that was cut off. */
export async function* byteLines(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number = 8 * 1024 * 1024,
): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    for (let end = rest.indexOf(newline); end >= 0; end = rest.indexOf(newline)) {
      // A copy: the object outlives the chunk by hours, and must not keep its neighbours.
      yield Buffer.concat([...pieces, rest.subarray(0, end + 1)]);
      pieces = [];
      length = 0;
      rest = rest.subarray(end + 1);
    }
    length += rest.length;
    if (length > maxBytes) throw new FormError(`a line is longer than ${maxBytes} bytes`);
    if (rest.length > 0) pieces.push(Buffer.from(rest));
  }
  if (length > 0) throw new TransportError("Reset", "the stream ended in the middle of a line");
}

const newline = 0x0a;
