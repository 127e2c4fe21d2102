/** Gets a catalog from a broker or from a file. The password is in no flag, error or address. */
import { readFile, stat } from "node:fs/promises";
import { printable } from "@klutch/api";
import { fetchCatalogDocument, OsbError, OsbTransportError } from "@klutch/osb";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { checkAddress } from "../http.ts";

/** Flags that say where the catalog is. */
export interface CatalogSource {
  readonly url: string | undefined;
  readonly file: string | undefined;
  readonly username: string | undefined;
  /** Path, or `-` for standard input. Default: the environment variable. */
  readonly passwordFile: string | undefined;
  /** Path of the certificates of authorities. */
  readonly caFile: string | undefined;
}

/** Environment variable of the broker's password. */
export const passwordVariable = "KLUTCH_BROKER_PASSWORD";

/** Largest file in bytes; the client of brokers has the same limit. */
const largestFile = 8 * 1024 * 1024;

/** Reads it. Throws `CliError` that names the flag, file or broker. */
export async function readCatalog(
  context: CliContext,
  from: CatalogSource,
): Promise<{ readonly document: unknown; readonly source: string }> {
  const { url, file } = from;
  if (url === undefined ? file === undefined : file !== undefined)
    throw new CliError(
      "Usage",
      "Pass --url with the broker's address, or --file with its catalog, and not both.",
    );
  if (file !== undefined) return { document: parsed(await catalogText(file), file), source: file };
  return fetched(context, from, url ?? "");
}

async function catalogText(file: string): Promise<string> {
  const refuse = (why: string, cause?: unknown): never => {
    throw new CliError("Manifest", `--file: ${printable(file)} ${why}. Nothing was written.`, { cause });
  };
  const found = await stat(file).catch((cause: unknown) => refuse("cannot be read", cause));
  if (found.size > largestFile)
    refuse(`has ${found.size} bytes, expected a catalog of at most ${largestFile} bytes`);
  return readFile(file, "utf8").catch((cause: unknown) => refuse("cannot be read", cause));
}

function parsed(text: string, file: string): unknown {
  try {
    const document: unknown = JSON.parse(text);
    return document;
  } catch (cause) {
    throw new CliError(
      "Manifest",
      `--file: ${printable(file)} is not JSON; expected the answer to GET /v2/catalog. Nothing was written.`,
      { cause },
    );
  }
}

async function fetched(
  context: CliContext,
  from: CatalogSource,
  url: string,
): Promise<{ readonly document: unknown; readonly source: string }> {
  checkAddress(url);
  const { username, caFile } = from;
  const password = username === undefined ? undefined : await passwordOf(context, from);
  const ca = caFile === undefined ? undefined : await secretText(caFile, "--ca-file");
  const auth = username === undefined || password === undefined ? undefined : { username, password };
  const { origin, pathname } = new URL(url);
  const base = `${origin}${pathname.replace(/(?:\/v2\/catalog)?\/?$/, "")}`;
  try {
    const document = await fetchCatalogDocument(
      {
        url: base,
        ...(auth === undefined ? {} : { auth: { kind: "basic", ...auth } }),
        ...(ca === undefined ? {} : { tls: { ca } }),
      },
      { signal: context.signal },
    );
    return { document, source: base };
  } catch (cause) {
    if (!(cause instanceof OsbError) && !(cause instanceof OsbTransportError)) throw cause;
    const status = cause instanceof OsbError ? ` (HTTP ${cause.status})` : "";
    const hint =
      cause instanceof OsbError && cause.status === 401
        ? ` Check --username and the password (${passwordVariable} or --password-file).`
        : "";
    throw new CliError(
      "ProviderUnreachable",
      `No catalog from ${printable(base)}${status}: ${cause.message.replace(/[.?!]$/, "")}.${hint} Nothing was written.`,
      { cause },
    );
  }
}

async function passwordOf({ env, terminal }: CliContext, { passwordFile }: CatalogSource): Promise<string> {
  const text =
    passwordFile === undefined
      ? env[passwordVariable]
      : passwordFile === "-"
        ? await terminal.readAll()
        : await secretText(passwordFile, "--password-file");
  const password = text?.replace(/\r?\n$/, "") ?? "";
  if (password !== "") return password;
  throw new CliError(
    "Usage",
    `--username needs a password: set ${passwordVariable}, or pass --password-file (- for standard input).`,
  );
}

async function secretText(path: string, flag: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new CliError("Usage", `${flag}: ${printable(path)} cannot be read.`, { cause });
  }
}
