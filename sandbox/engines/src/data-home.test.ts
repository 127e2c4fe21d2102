import assert from "node:assert/strict";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { dataHome } from "./data-home.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-data-home-"));
after(() => rm(folder, { recursive: true }));

test("data that is gone from where it was kept is missed in words that fit each kind of server", async () => {
  const wanted = join(folder, "mariadb");
  const gone = join(folder, "gone");
  await symlink(gone, wanted);
  await assert.rejects(dataHome(wanted), {
    code: "DataMissing",
    message: `${wanted} points to ${gone}, where the server's data was kept, and that is gone. Put it back, or remove ${wanted} to start with an empty server`,
  });
});
