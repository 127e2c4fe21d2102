import assert from "node:assert/strict";
import { test } from "node:test";
import { engineDefinition } from "./catalog.ts";
import { roomFor } from "./room.ts";

const folders = { buildCache: "/b", moduleCache: "/m", programs: "/p" };
const of = (...names: Parameters<typeof engineDefinition>[0][]): ReturnType<typeof roomFor> =>
  roomFor(names.map(engineDefinition), folders);

test("what only tests or nodes run needs room besides what is there already, and a small program none that is worth a question", () => {
  assert.deepEqual(of("crane"), []);
  const [sandbox] = of("kube-apiserver", "crossplane");
  assert.deepEqual(sandbox, { folder: "/b", sizeMiB: 4_900, moreMiB: 0 });
  assert.deepEqual(
    of("judges", "provider-kubernetes").map(({ sizeMiB, moreMiB }) => [sizeMiB, moreMiB]),
    [
      [0, 1_800],
      [0, 1_600],
      [0, 200],
    ],
  );
  assert.deepEqual(of("kubelet", "kube-proxy")[0], { folder: "/b", sizeMiB: 4_900, moreMiB: 800 });
  assert.deepEqual(of("kubectl", "judges")[0], { folder: "/b", sizeMiB: 4_900, moreMiB: 1_000 });
});
