/** Short, stable identities from text. */
import { createHash } from "node:crypto";

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** SHA-224 in base 62, as the wire contract uses it for identities and source hashes. */
export function base62Hash(text: string): string {
  let value = BigInt(`0x${createHash("sha224").update(text).digest("hex")}`);
  let digits = "";
  while (value > 0n) {
    digits = (alphabet[Number(value % 62n)] ?? "") + digits;
    value /= 62n;
  }
  return digits === "" ? "0" : digits;
}
