/**
 * `npm run release:push`: the images, packages and charts of `dist/release` into a registry, with the login that `docker login` left, or with
 * a password on standard input.
 *
 *     npm run release:push -- --registry HOST[:PORT][/PATH] [--from FOLDER] [--plain-http] [--replace]
 *                             [--username NAME --password-stdin] [--token-server HOST[:PORT]]...
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { parseArgs } from "node:util";
import { parseRegistry } from "@klutch/api";
import { type Account, dockerAccount, passwordAccount, pushLayout, RegistryLogin } from "@klutch/oci";
import { repositoryRoot } from "../root.ts";
import { chartsPath } from "./charts.ts";
import { ReleaseError } from "./errors.ts";

try {
  const { values } = parseArgs({
    options: {
      from: { type: "string", default: join(repositoryRoot, "dist", "release") },
      registry: { type: "string" },
      "plain-http": { type: "boolean", default: false },
      replace: { type: "boolean", default: false },
      username: { type: "string" },
      "password-stdin": { type: "boolean", default: false },
      "token-server": { type: "string", multiple: true, default: [] },
    },
  });
  const registry = parseRegistry(values.registry ?? "");
  const [host = "", ...path] = registry.split("/");
  const url = `${values["plain-http"] ? "http" : "https"}://${host}`;
  if ((values.username !== undefined) !== values["password-stdin"])
    throw new ReleaseError("--username and --password-stdin belong together");
  const given = values.username === undefined ? undefined : await accountOf(values.username);
  const login = new RegistryLogin({
    registry: url,
    tokenServers: values["token-server"],
    account: async ({ signal }) => given ?? dockerAccount({ registry, env: process.env, signal }),
  });
  for (const [folder, below] of Object.entries({ images: [], packages: [], [chartsPath]: [chartsPath] }))
    for (const layout of await layoutsIn(join(values.from, folder))) {
      const name = [...below, layout].join("/");
      const pushed = await pushLayout(join(values.from, folder, layout), {
        registry: url,
        login,
        repository: [...path, name].join("/"),
        replace: values.replace,
      });
      for (const { tag, digest } of pushed) console.log(`${registry}/${name}:${tag}@${digest}`);
    }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function accountOf(username: string): Promise<Account> {
  const account = passwordAccount(username, await text(process.stdin));
  if (account === undefined) throw new ReleaseError("--password-stdin: standard input is empty");
  return account;
}

async function layoutsIn(folder: string): Promise<readonly string[]> {
  const found = await readdir(folder, { withFileTypes: true }).catch((cause: unknown) => {
    throw new ReleaseError(`--from: ${folder} is not there; npm run release:build makes it`, { cause });
  });
  return found
    .filter((each) => each.isDirectory() && !each.name.endsWith(".partial"))
    .map(({ name }) => name)
    .toSorted();
}
