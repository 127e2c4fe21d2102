/**
 * `npm run release:push`: the images and packages of `dist/release` into a registry that asks for no login, such as one inside a closed network.
 *
 *     npm run release:push -- --registry HOST[:PORT][/PATH] [--from FOLDER] [--plain-http] [--replace]
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { parseRegistry } from "@klutch/api";
import { pushLayout } from "@klutch/oci";
import { repositoryRoot } from "../root.ts";
import { ReleaseError } from "./errors.ts";

try {
  const { values } = parseArgs({
    options: {
      from: { type: "string", default: join(repositoryRoot, "dist", "release") },
      registry: { type: "string" },
      "plain-http": { type: "boolean", default: false },
      replace: { type: "boolean", default: false },
    },
  });
  const registry = parseRegistry(values.registry ?? "");
  const [host = "", ...path] = registry.split("/");
  for (const folder of ["images", "packages"])
    for (const name of await layoutsIn(join(values.from, folder))) {
      const pushed = await pushLayout(join(values.from, folder, name), {
        registry: `${values["plain-http"] ? "http" : "https"}://${host}`,
        repository: [...path, name].join("/"),
        replace: values.replace,
      });
      for (const { tag, digest } of pushed) console.log(`${registry}/${name}:${tag}@${digest}`);
    }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function layoutsIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch((cause: unknown) => {
    throw new ReleaseError(`--from: ${folder} is not there; npm run release:build makes it`, { cause });
  });
  return names.filter((name) => !name.endsWith(".partial")).toSorted();
}
