/** A tenant that writes thousands of objects, on a real API server with the backend's own account: the others get their turn. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { flood, floodBackend, samples, waitsText } from "./testing/flood.ts";

test("1,400 objects of one tenant do not go before another's new namespaces", async (t) => {
  const { quiet, flooded, meanwhile, waiting } = await floodBackend();
  t.diagnostic(
    `quiet: ${waitsText(quiet)}; during the flood: ${waitsText(flooded)}; ${meanwhile} of the flood were mapped meanwhile, ${waiting} waited on`,
  );
  // However fast the machine is: a few of the flood for each of the other tenant, and most of the flood still waits.
  assert.ok(waiting > flood / 2, `only ${waiting} of the flood still waited`);
  assert.ok(meanwhile <= flood / 5, `${meanwhile} of the flood for ${samples} of the other tenant`);
});
