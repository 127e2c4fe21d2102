/** Contents of benchmark objects: random, but the same for the same seed. */

/** Numbers from 0 (included) to 1 (excluded). */
export type RandomNumbers = () => number;

/** A generator that gives the same numbers for the same seed (mulberry32). Not for secrets. */
export function seededRandom(seed: number): RandomNumbers {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Base64 of random bytes: as incompressible as a certificate or a key. */
export function randomBase64(random: RandomNumbers, length: number): string {
  const bytes = Buffer.alloc(Math.ceil((length * 3) / 4) + 4);
  for (let at = 0; at + 4 <= bytes.length; at += 4) bytes.writeUInt32LE((random() * 4_294_967_296) >>> 0, at);
  return bytes.toString("base64").slice(0, length);
}

const words =
  "the claim of a team asks for one more database with backups at night and a plan that fits the load of the shop".split(
    " ",
  );

/** Plain words: as compressible as what people write. */
export function randomText(random: RandomNumbers, length: number): string {
  const parts: string[] = [];
  for (let size = 0; size < length; ) {
    const word = words[Math.floor(random() * words.length)] ?? "";
    parts.push(word);
    size += word.length + 1;
  }
  return parts.join(" ").slice(0, length);
}
