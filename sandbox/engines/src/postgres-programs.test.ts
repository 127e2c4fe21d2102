import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { EngineError } from "./environment.ts";
import { type PostgresPrograms, type ProgramsOptions, resolvePostgres } from "./postgres-programs.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-pg-programs-"));
after(() => rm(folder, { recursive: true, force: true }));

const server = ["initdb", "postgres"];
const client = ["pg_dump", "pg_restore"];

/** A folder of installed versions. */
async function installed(versions: Readonly<Record<string, readonly string[]>>): Promise<string> {
  const root = await mkdtemp(join(folder, "lib-"));
  for (const [major, programs] of Object.entries(versions)) {
    await mkdir(join(root, major, "bin"), { recursive: true });
    for (const program of programs) await writeFile(join(root, major, "bin", program), "");
  }
  return root;
}

async function dataOf(major: string): Promise<string> {
  const data = await mkdtemp(join(folder, "data-"));
  await writeFile(join(data, "PG_VERSION"), `${major}\n`);
  return data;
}

/** Fails like apt without network. */
const noDebian = (): Promise<never> =>
  Promise.reject(new EngineError("PackageMissing", "postgresql-15 cannot be fetched"));

async function choice(
  versions: Readonly<Record<string, readonly string[]>>,
  data?: string,
  fetchDebian: ProgramsOptions["fetchDebian"] = noDebian,
): Promise<PostgresPrograms> {
  return resolvePostgres(data, { installed: await installed(versions), fetchDebian });
}

test("a new data folder gets the newest installed version that can be backed up", async () => {
  const chosen = await choice({
    "9": [...server, ...client],
    "15": [...server, ...client],
    "16": client,
    "17": server,
    x: [...server, ...client],
  });
  assert.equal(chosen.major, "15");
  assert.equal(chosen.canDump, true);
  assert.match(chosen.folder, /\/15\/bin$/);
});

test("if none is installed, Debian's is fetched, for new data and for data that it made", async () => {
  const env = { LD_LIBRARY_PATH: "/cache/usr/lib" };
  const path = (program: string): string => `/cache/usr/lib/postgresql/15/bin/${program}`;
  const fetched = { name: "postgresql-15", version: "15.20", root: "/cache", env, path } as const;
  const expected = { folder: "/cache/usr/lib/postgresql/15/bin", major: "15", canDump: true, env };
  assert.deepEqual(await choice({}, undefined, async () => fetched), expected);
  assert.deepEqual(await choice({}, await dataOf("15"), async () => fetched), expected);
  const embedded = await choice({}, await dataOf("18"), () => assert.fail("fetched for other data"));
  assert.equal(embedded.major, "18");
});

test("if none can be fetched, the npm package's is taken, which cannot be backed up", async () => {
  const chosen = await choice({}, join(folder, "not-there-yet"));
  assert.equal(chosen.canDump, false);
  assert.equal(chosen.major, "18");
});

test("kept data stay with the version that made them, whatever else is installed since", async () => {
  const versions = { "15": [...server, ...client], "16": [...server, ...client] };
  assert.equal((await choice(versions, await dataOf("15"))).major, "15");
  const embedded = await choice(versions, await dataOf("18"));
  assert.deepEqual([embedded.major, embedded.canDump], ["18", false]);
});

test("kept data of a version that is gone are named, with what there is", async () => {
  const data = await dataOf("13");
  await assert.rejects(choice({ "15": [...server, ...client] }, data), (error) => {
    assert.ok(error instanceof EngineError);
    assert.equal(error.code, "PackageMissing");
    assert.equal(
      error.message,
      `${data} was made by PostgreSQL 13, which is not installed here any more (there is 15, 18); install the package postgresql-13, or remove the folder to start with an empty server`,
    );
    return true;
  });
});
