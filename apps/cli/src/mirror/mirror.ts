/** `klutch mirror`: the artefacts of an unpacked release into another registry, and manifests that name them there. */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Registry, registryAddress } from "@klutch/api";
import { type Account, dockerAccount, mirrorLayout, passwordAccount, RegistryLogin } from "@klutch/oci";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { renamed } from "./references.ts";

/** Flags of `mirror`. */
export interface MirrorCommandOptions {
  /** Folder that the archive was unpacked to. */
  readonly folder: string;
  readonly registry: Registry;
  /** Gets the manifests. */
  readonly out: string;
  /** User name; the password comes from standard input. Default: the credentials in Docker's configuration. */
  readonly username: string | undefined;
  /** Hosts besides the registry's own that may get the password, for tokens. */
  readonly tokenServers: readonly string[];
}

/** Runs it. The manifests are written last: when there are any, everything that they name is there. */
export async function mirror(context: CliContext, options: MirrorCommandOptions): Promise<void> {
  const { folder, registry, out } = options;
  const { terminal, signal } = context;
  const bundles = await readBundles(join(folder, "bundles"));
  const { url, path } = registryAddress(registry);
  const say = (line: string): void => terminal.out(`${registry}/${line}\n`);
  const login = await loginAt(context, options);
  const images = await mirrorLayout({ folder, registry: url, path, login, signal, say });
  const texts = bundles.map(({ name, text }) => ({ name, text: renamed(text, name, images, registry) }));
  await mkdir(out, { recursive: true });
  for (const { name, text } of texts) await writeFile(join(out, name), text);
  terminal.say(`Wrote ${texts.map(({ name }) => join(out, name)).join(", ")}.`);
}

/** A password on standard input is read at once; Docker's configuration when the registry asks. */
async function loginAt(
  { env, terminal }: CliContext,
  { registry, username, tokenServers }: MirrorCommandOptions,
): Promise<RegistryLogin> {
  let given: Account | undefined;
  if (username !== undefined) {
    given = passwordAccount(username, await terminal.readAll());
    if (given === undefined) throw new CliError("Usage", "--password-stdin: standard input is empty.");
  }
  return new RegistryLogin({
    registry: registryAddress(registry).url,
    tokenServers,
    account: async ({ signal }) => given ?? dockerAccount({ registry, env, signal }),
  });
}

async function readBundles(
  folder: string,
): Promise<readonly { readonly name: string; readonly text: string }[]> {
  try {
    const names = (await readdir(folder)).filter((name) => name.endsWith(".yaml")).toSorted();
    return await Promise.all(
      names.map(async (name) => ({ name, text: await readFile(join(folder, name), "utf8") })),
    );
  } catch (cause) {
    throw new CliError(
      "Manifest",
      `${folder} cannot be read; name the folder that the archive of the release was unpacked to.`,
      { cause },
    );
  }
}
