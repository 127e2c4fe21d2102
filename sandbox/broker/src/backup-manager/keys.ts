/** From what backups are encrypted, and how an instance's own key is kept: never as it is. */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { deriveKey, SealError } from "./sealing.ts";

/** The broker's key and, for instances that have one, their own. */
export class Keys {
  readonly #secretKey: string;

  constructor(secretKey: string) {
    this.#secretKey = secretKey;
  }

  /** Text that is safe to store. */
  seal(ownKey: string): string {
    const salt = randomBytes(32);
    const cipher = createCipheriv("aes-256-gcm", this.#storingKey(salt), Buffer.alloc(12));
    const sealed = Buffer.concat([cipher.update(ownKey, "utf8"), cipher.final()]);
    return Buffer.concat([salt, cipher.getAuthTag(), sealed]).toString("base64");
  }

  /** What a backup's key follows from. Throws `SealError` when the broker's key is another one than it was. */
  secretOf(sealedOwnKey: string | null): string {
    const own = sealedOwnKey === null ? "" : this.#unseal(Buffer.from(sealedOwnKey, "base64"));
    return JSON.stringify([this.#secretKey, own]);
  }

  #unseal(sealed: Buffer): string {
    const decipher = createDecipheriv(
      "aes-256-gcm",
      this.#storingKey(sealed.subarray(0, 32)),
      Buffer.alloc(12),
    );
    try {
      decipher.setAuthTag(sealed.subarray(32, 48));
      return Buffer.concat([decipher.update(sealed.subarray(48)), decipher.final()]).toString("utf8");
    } catch {
      throw new SealError();
    }
  }

  /** A new salt and so a new key for each text, hence one nonce is enough. */
  #storingKey(salt: Buffer): Buffer {
    return deriveKey(this.#secretKey, salt, "klutch backup encryption_key");
  }
}
