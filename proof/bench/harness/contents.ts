/** Contents of benchmark objects: random, but the same for the same seed. */
import type { Random } from "@klutch/kube";

/** Base64 of random bytes: as incompressible as a certificate or a key. */
export function randomBase64(random: Random, length: number): string {
  const bytes = Buffer.alloc(Math.ceil((length * 3) / 4) + 4);
  for (let at = 0; at + 4 <= bytes.length; at += 4) bytes.writeUInt32LE((random() * 4_294_967_296) >>> 0, at);
  return bytes.toString("base64").slice(0, length);
}

const words =
  "the claim of a team asks for one more database with backups at night and a plan that fits the load of the shop".split(
    " ",
  );

/** Plain words: as compressible as what people write. */
export function randomText(random: Random, length: number): string {
  const parts: string[] = [];
  for (let size = 0; size < length; ) {
    const word = words[Math.floor(random() * words.length)] ?? "";
    parts.push(word);
    size += word.length + 1;
  }
  return parts.join(" ").slice(0, length);
}
