/**
 * Reads the credentials that `docker login`, `crane auth login` and `helm registry login` saved: `config.json` in the folder `DOCKER_CONFIG` or
 * `~/.docker`, and the helper programs that it names (docker-credential-helpers). It is this user's own file, so its programs are run.
 */
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Secret } from "@klutch/telemetry";
import { OciError } from "./errors.ts";
import type { Account } from "./login.ts";

/** Sources of the configuration. */
export interface DockerConfigOptions {
  /** `HOST[:PORT]`, and the path of the repositories, if a login is for a part of the registry. */
  readonly registry: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal | undefined;
}

type Fields = ReadonlyMap<string, unknown>;

/** Returns the account for the registry; undefined without a login. Throws `OciError` that names the file and the entry, never a secret. */
export async function dockerAccount(options: DockerConfigOptions): Promise<Account | undefined> {
  const { env, registry } = options;
  const home = env["HOME"] ?? env["USERPROFILE"];
  const folder = env["DOCKER_CONFIG"] || (home === undefined ? undefined : join(home, ".docker"));
  if (folder === undefined) return undefined;
  const path = join(folder, "config.json");
  const config = await fieldsIn(path);
  const host = registry.split("/")[0] ?? "";
  const helper = textAt(fieldsOf(config.get("credHelpers")), host) ?? textAt(config, "credsStore");
  const found = helper === undefined ? undefined : await fromHelper(helper, host, options);
  return found ?? fromFile(fieldsOf(config.get("auths")), registry, path);
}

async function fieldsIn(path: string): Promise<Fields> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return new Map();
    throw new OciError(`${path} cannot be read`, { cause });
  }
  return parsed(text, `${path} is no JSON`);
}

/** Parses the text. The parser's own error may quote it, so it is not passed on. */
function parsed(text: string, problem: string): Fields {
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    throw new OciError(problem);
  }
}

/** The entry for the longest path of the registry, or one that is written as a URL with this host. */
function fromFile(auths: Fields, registry: string, path: string): Account | undefined {
  const parts = registry.split("/");
  const names = parts.map((_, index) => parts.slice(0, parts.length - index).join("/"));
  const byUrl = [...auths.keys()].find(
    (key) => /^https?:\/\//.test(key) && URL.canParse(key) && new URL(key).host === parts[0],
  );
  const key = [...names, byUrl].find((name) => name !== undefined && auths.has(name));
  if (key === undefined) return undefined;
  const entry = fieldsOf(auths.get(key));
  const token = textAt(entry, "identitytoken") ?? "";
  if (token !== "") return { kind: "identityToken", token: new Secret(token) };
  const text = Buffer.from(textAt(entry, "auth") ?? "", "base64").toString();
  const colon = text.indexOf(":");
  if (colon > 0) return passwordOf(text.slice(0, colon), text.slice(colon + 1).replace(/\0+$/, ""));
  const [username, password] = [textAt(entry, "username"), textAt(entry, "password")];
  if (username !== undefined && password !== undefined) return passwordOf(username, password);
  throw new OciError(
    `${path}: auths[${JSON.stringify(key)}] has neither auth (base64 of user:password) nor identitytoken; log in again`,
  );
}

function passwordOf(username: string, password: string): Account {
  return { kind: "password", username, password: new Secret(password) };
}

/** Answer of helpers without an account. */
const unknown = "credentials not found in native keychain";
/** A user's name that says that the secret is an identity token. */
const tokenUser = "<token>";
const longestMs = 60_000;

/** Asks the program `docker-credential-<name>`, which gets the registry on its standard input. */
async function fromHelper(
  name: string,
  host: string,
  { env, signal }: DockerConfigOptions,
): Promise<Account | undefined> {
  const program = `docker-credential-${name}`;
  if (!/^[\w.-]+$/.test(name))
    throw new OciError(`${JSON.stringify(program)} is no name of a credential helper`);
  const { code, text } = await run(program, host, env, signal);
  if (code !== 0 && text.trim() === unknown) return undefined;
  // What it prints may be a secret, so it is not told.
  if (code !== 0) throw new OciError(`${program} failed with code ${code} for ${host}; log in again`);
  const answer = parsed(text, `${program} did not answer with JSON for ${host}`);
  const [user, secret] = [textAt(answer, "Username"), textAt(answer, "Secret")];
  if (user === undefined || secret === undefined || secret === "") return undefined;
  return user === tokenUser ? { kind: "identityToken", token: new Secret(secret) } : passwordOf(user, secret);
}

async function run(
  program: string,
  input: string,
  env: DockerConfigOptions["env"],
  signal: AbortSignal | undefined,
): Promise<{ readonly code: number | null; readonly text: string }> {
  const limit = AbortSignal.timeout(longestMs);
  const until = signal === undefined ? limit : AbortSignal.any([limit, signal]);
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  const child = spawn(program, ["get"], {
    env: { ...env },
    signal: until,
    stdio: ["pipe", "pipe", "ignore"],
  });
  const parts: Buffer[] = [];
  child.stdout.on("data", (part: Buffer) => parts.push(part));
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  child.on("error", (cause) => {
    const message = `the credential helper ${program} cannot be run; the Docker configuration names it`;
    reject(new OciError(message, { cause }));
  });
  child.on("close", (code) => resolve(code));
  return { code: await promise, text: Buffer.concat(parts).toString() };
}

function fieldsOf(value: unknown): Fields {
  return new Map<string, unknown>(typeof value === "object" && value !== null ? Object.entries(value) : []);
}

function textAt(fields: Fields, name: string): string | undefined {
  const found = fields.get(name);
  return typeof found === "string" ? found : undefined;
}
