/** As much of BSON (bsonspec.org) as commands to a server of MongoDB's protocol, and their answers, need. */

/** A value in a command. Numbers are whole and have 32 bits. */
export type BsonValue = string | number | boolean | Buffer | readonly BsonValue[] | BsonDocument;
export interface BsonDocument {
  readonly [name: string]: BsonValue;
}

/** Tags of the values that are written. */
const tags = { double: 1, text: 2, document: 3, list: 4, bytes: 5, truth: 8, int32: 16 };
/** Sizes of values that are passed over, by their tags: identifiers, times and numbers of 64 bits; null has none. */
const passedOver: Readonly<Record<number, number>> = { 7: 12, 9: 8, 10: 0, 17: 8, 18: 8 };

/** Encodes a document. */
export function toBson(document: BsonDocument): Buffer {
  const parts = Object.entries(document).map(([name, value]) => {
    const [tag, body] = encoded(value);
    return Buffer.concat([Buffer.from([tag]), Buffer.from(`${name}\0`), body]);
  });
  const body = Buffer.concat(parts);
  return Buffer.concat([int32(body.length + 5), body, Buffer.from([0])]);
}

function encoded(value: BsonValue): readonly [number, Buffer] {
  if (typeof value === "string") {
    const text = Buffer.from(`${value}\0`);
    return [tags.text, Buffer.concat([int32(text.length), text])];
  }
  if (typeof value === "number") return [tags.int32, int32(value)];
  if (typeof value === "boolean") return [tags.truth, Buffer.from([value ? 1 : 0])];
  if (Buffer.isBuffer(value))
    return [tags.bytes, Buffer.concat([int32(value.length), Buffer.from([0]), value])];
  if (Array.isArray(value)) return [tags.list, toBson(Object.fromEntries(value.entries()))];
  return [tags.document, toBson(value as BsonDocument)];
}

/** Returns a 32-bit number as BSON and the protocol write it. */
export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

/** Decodes a document without the values that no caller reads. Throws for a damaged one. */
export function fromBson(bytes: Buffer): BsonDocument {
  const found: Record<string, BsonValue> = {};
  for (let at = 4; bytes[at] !== 0; ) {
    const tag = bytes.readUInt8(at);
    const end = bytes.indexOf(0, at + 1);
    if (end < 0) throw new Error("BSON ends within a name");
    const name = bytes.toString("utf8", at + 1, end);
    const [value, size] = decoded(tag, bytes.subarray(end + 1));
    if (value !== undefined) found[name] = value;
    at = end + 1 + size;
  }
  return found;
}

function decoded(tag: number, bytes: Buffer): readonly [BsonValue | undefined, number] {
  switch (tag) {
    case tags.double:
      return [bytes.readDoubleLE(), 8];
    case tags.text: {
      const size = bytes.readInt32LE();
      return [bytes.toString("utf8", 4, 3 + size), 4 + size];
    }
    case tags.document:
    case tags.list: {
      const size = bytes.readInt32LE();
      return [fromBson(bytes.subarray(0, size)), size];
    }
    case tags.bytes: {
      const size = bytes.readInt32LE();
      return [bytes.subarray(5, 5 + size), 5 + size];
    }
    case tags.truth:
      return [bytes[0] === 1, 1];
    case tags.int32:
      return [bytes.readInt32LE(), 4];
    default: {
      const size = passedOver[tag];
      if (size === undefined) throw new Error(`BSON has a value of the unknown type ${tag}`);
      return [undefined, size];
    }
  }
}
