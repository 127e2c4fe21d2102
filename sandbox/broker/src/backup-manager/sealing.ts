/**
 * Encryption of a stream whose end nobody can wait for: AES-256-GCM in chunks (the STREAM construction of Hoang, Reyhanitabar, Rogaway
 * and Vizár, 2015). Each chunk has its number in its nonce, and the last one says that it is: chunks can be neither exchanged, nor left
 * out, nor cut off. One key is used for one stream, so numbers can begin at zero.
 */
import { createCipheriv, createDecipheriv, hkdfSync } from "node:crypto";
import { Transform } from "node:stream";

/** Bytes of the clear text in one chunk. */
const chunkBytes = 64 * 1024;
const tagBytes = 16;

/** The bytes are not what was written with this key. */
export class SealError extends Error {
  constructor() {
    super("what was encrypted cannot be decrypted: it was changed, or written with another key");
    this.name = "SealError";
  }
}

/** A key of 32 bytes that follows from a secret, 16 random bytes or more, and what it is for (HKDF, RFC 5869). */
export function deriveKey(secret: string, salt: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, salt, purpose, 32));
}

/** Encrypts what is written to it. */
export function sealing(key: Buffer): Transform {
  return inChunks(chunkBytes, (chunk, number, isLast) => {
    const cipher = createCipheriv("aes-256-gcm", key, nonceOf(number, isLast));
    return Buffer.concat([cipher.update(chunk), cipher.final(), cipher.getAuthTag()]);
  });
}

/** Decrypts; gives out nothing that was not checked, and fails with `SealError` at the first chunk that is wrong. */
export function opening(key: Buffer): Transform {
  return inChunks(chunkBytes + tagBytes, (chunk, number, isLast) => {
    if (chunk.length < tagBytes) throw new SealError();
    const decipher = createDecipheriv("aes-256-gcm", key, nonceOf(number, isLast));
    decipher.setAuthTag(chunk.subarray(-tagBytes));
    try {
      return Buffer.concat([decipher.update(chunk.subarray(0, -tagBytes)), decipher.final()]);
    } catch {
      throw new SealError();
    }
  });
}

/** Eleven bytes of number, one that says whether it is the last. */
function nonceOf(number: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeBigUInt64BE(BigInt(number), 3);
  nonce.writeUInt8(isLast ? 1 : 0, 11);
  return nonce;
}

/** Cuts what comes into pieces of `size` bytes; the last one, which is always there, may be shorter or empty. */
function inChunks(size: number, turn: (chunk: Buffer, number: number, isLast: boolean) => Buffer): Transform {
  let waiting: Buffer[] = [];
  let length = 0;
  let number = 0;
  return new Transform({
    transform(data: Buffer, _encoding, done) {
      waiting.push(data);
      length += data.length;
      // What is exactly one piece may be the last one.
      if (length <= size) return done();
      let whole = Buffer.concat(waiting);
      try {
        for (; whole.length > size; whole = whole.subarray(size))
          this.push(turn(whole.subarray(0, size), number++, false));
      } catch (error) {
        return done(asError(error));
      }
      waiting = [whole];
      length = whole.length;
      return done();
    },
    flush(done) {
      try {
        done(null, turn(Buffer.concat(waiting), number, true));
      } catch (error) {
        done(asError(error));
      }
    },
  });
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
