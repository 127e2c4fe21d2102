import assert from "node:assert/strict";
import { test } from "node:test";
import { onLoopback } from "@klutch/data-servers";
import { openFolder } from "../testing/servers.ts";
import type { Place, ServerKind } from "./driver.ts";
import { startServer } from "./own-server.ts";

/** A server that runs and never serves. */
function mute(patienceMs: number): ServerKind {
  const refuse = (): Promise<never> => Promise.reject(new Error("it never serves"));
  return {
    type: "messaging",
    program: "mute server",
    parameters: {},
    patienceMs,
    initialise: refuse,
    launch: () =>
      Promise.resolve({ command: "/bin/sleep", args: ["600"], ready: () => Promise.resolve(false) }),
    open: refuse,
    credentials: refuse,
  };
}

test("a server that does not serve is given up when the patience of its kind ends", async () => {
  await using folder = await openFolder();
  const place: Place = {
    database: "d",
    home: folder.path,
    data: folder.path,
    port: undefined,
    reach: onLoopback,
    adminPassword: "of-this-test",
    tls: { authority: "", certificate: "", key: "" },
  };
  const spec = { connectionLimit: 1, memoryMiB: 1, diskMiB: 1, tlsOnly: false, parameters: {} };
  const { signal } = new AbortController();
  await assert.rejects(startServer(mute(300), place, spec, signal), /mute server was not ready after 0\.3 s/);
});
