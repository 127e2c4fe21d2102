/** Passwords as web servers store them. */
import { randomBytes } from "node:crypto";
import { Readable, PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { runProgram } from "@klutch/data-servers";

/** The least that bcrypt knows. The passwords are 256 random bits, so slow tries protect nothing, and a server computes it for each request. */
const cost = "04";
/** Each Debian has Perl, whose `crypt` is that of the C library. */
const script = "chomp(my ($password, $salt) = <STDIN>); print crypt($password, $salt)";

/** Returns the bcrypt of a password, as of `htpasswd -B`. Throws `ProgramError` when this machine's C library has none. */
export async function bcrypt(password: string): Promise<string> {
  // The last letter of a salt has two bits only.
  const letters = randomBytes(16).toString("base64url").replaceAll(/[-_]/g, ".").slice(0, 21);
  const salt = `$2b$${cost}$${letters}u`;
  const to = new PassThrough();
  const run = { program: "perl", args: ["-e", script], env: { PATH: "/usr/bin:/bin" } };
  const [hash] = await Promise.all([
    text(to),
    runProgram(run, { from: Readable.from([`${password}\n${salt}\n`]), to }),
  ]);
  if (hash.startsWith(salt)) return hash;
  throw new Error("the C library of this machine has no bcrypt, which Prometheus needs");
}
