import assert from "node:assert/strict";
import { test } from "node:test";
import { EngineError } from "@klutch/engines";
import { hierarchiesOf } from "./needs.ts";

const controllers = ["cpu,cpuacct", "cpuset", "devices", "freezer", "pids"];
const mountOf = (options: string, root = "/"): string =>
  `40 30 0:29 ${root} /sys/fs/cgroup/${options} rw,relatime shared:9 - cgroup cgroup rw,${options}`;
const mounts = controllers.map((each) => mountOf(each)).join("\n");
const groups = controllers.map((each, index) => `${index + 1}:${each}:/`).join("\n");

test("a hierarchy is where it is mounted, below that at our own group, and named as programs look for it", () => {
  const found = hierarchiesOf(
    `12:memory:/sandbox/one\n11:name=systemd:/user\n${groups}\n0::/\n`,
    `${mountOf("memory", "/sandbox")}\n${mounts}\n42 30 0:31 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd`,
  );
  assert.equal(found.length, 7);
  assert.deepEqual(found.slice(0, 3), [
    { option: "memory", name: "memory", folder: "/sys/fs/cgroup/memory/one" },
    { option: "none,name=systemd", name: "systemd", folder: "/sys/fs/cgroup/systemd/user" },
    { option: "cpu,cpuacct", name: "cpu,cpuacct", folder: "/sys/fs/cgroup/cpu,cpuacct" },
  ]);
});

test("a machine without a controller is refused by the controller's name", () => {
  const unified = "26 25 0:24 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
  for (const [cgroup, mountinfo, missing] of [
    [groups, mounts, "memory"],
    ["0::/user.slice", unified, "cpu, cpuacct, cpuset, devices, freezer, memory, pids"],
  ] as const)
    assert.throws(
      () => hierarchiesOf(cgroup, mountinfo),
      (error) =>
        error instanceof EngineError && error.code === "Unfit" && error.message.endsWith(`for ${missing}`),
    );
});
