import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  allEngineNames,
  buildGroups,
  engineDefinition,
  engineDefinitions,
  kubernetesVersions,
  versionedServers,
} from "./catalog.ts";

test("every name is defined once, and another one is an error that says which", () => {
  assert.equal(new Set(allEngineNames).size, allEngineNames.length);
  for (const name of allEngineNames) assert.equal(engineDefinition(name).name, name);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  assert.throws(() => engineDefinition("kube-router" as "etcd"), /unknown engine kube-router/);
});

test("the servers of a cluster are there in each version of Kubernetes, and other programs in the first only", () => {
  const [first, ...others] = kubernetesVersions;
  assert.equal(engineDefinition("kube-apiserver").version, first);
  for (const version of others) {
    const [server, manager] = versionedServers.map((name) => engineDefinition(name, version));
    assert.deepEqual([server?.version, manager?.version], [version, version]);
    assert.notEqual(server?.module, engineDefinition("kube-apiserver").module);
    assert.ok(server !== undefined && manager !== undefined);
    assert.deepEqual(buildGroups([server, manager]), [[server, manager]]);
    assert.throws(
      () => engineDefinition("kubectl", version),
      new RegExp(`unknown engine kubectl ${version}`),
    );
  }
});

test("each chosen server is built once, with those of its module and settings only, in the order of the catalogue", () => {
  fc.assert(
    fc.property(fc.shuffledSubarray([...engineDefinitions]), (chosen) => {
      const groups = buildGroups(chosen);
      const built = groups.flat();
      assert.deepEqual(new Set(built), new Set(chosen));
      assert.equal(built.length, chosen.length);
      for (const group of groups) {
        const [first] = group;
        for (const { module, linkerSettings } of group) {
          assert.equal(module, first?.module);
          assert.deepEqual(linkerSettings, first?.linkerSettings);
        }
      }
      const firsts = groups.map((group) => engineDefinitions.findIndex((engine) => engine === group[0]));
      assert.deepEqual(
        firsts,
        firsts.toSorted((left, right) => left - right),
      );
      const keys = groups.map(([first]) => JSON.stringify([first?.module, first?.linkerSettings]));
      assert.equal(new Set(keys).size, keys.length, "one call of the compiler could have built two groups");
    }),
  );
});
