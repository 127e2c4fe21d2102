/** SCRAM-SHA-256 verifiers (RFC 5803), so that the server and its log never see a password. */
import { createHash, createHmac, pbkdf2Sync } from "node:crypto";

const iterations = 4096;

/** What PostgreSQL stores for the password. `salt` has 16 random bytes. The password must be plain ASCII, as ours are. */
export function scramVerifier(password: string, salt: Uint8Array): string {
  const salted = pbkdf2Sync(password, salt, iterations, 32, "sha256");
  const keyFor = (purpose: string): Buffer => createHmac("sha256", salted).update(purpose).digest();
  const storedKey = createHash("sha256").update(keyFor("Client Key")).digest("base64");
  const encodedSalt = Buffer.from(salt).toString("base64");
  return `SCRAM-SHA-256$${iterations}:${encodedSalt}$${storedKey}:${keyFor("Server Key").toString("base64")}`;
}
