import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { formatYaml, parsePlacedYaml } from "@klutch/kube";
import { mariadb } from "../../mariadb/service.ts";
import { postgresql } from "../../postgresql/service.ts";
import { examplesOf } from "../examples.ts";
import { pageOf } from "../page.ts";
import { instanceXrd } from "../xrds.ts";
import { dataServiceOf } from "./data-service-of.ts";
import { describeFault, readTable } from "./read-table.ts";

for (const service of [postgresql, mariadb])
  test(`the table of ${service.title} renders what its code renders, byte for byte`, () => {
    const file = join(import.meta.dirname, "..", "..", service.type, "service.yaml");
    const { table, faults } = readTable(parsePlacedYaml(readFileSync(file, "utf8")));
    assert.deepEqual(
      faults.map((fault) => describeFault("service.yaml", fault)),
      [],
    );
    assert.ok(table !== undefined);
    const read = dataServiceOf(table);
    assert.equal(formatYaml(instanceXrd(read)), formatYaml(instanceXrd(service)));
    assert.equal(formatYaml(examplesOf(read)), formatYaml(examplesOf(service)));
    assert.equal(pageOf(read), pageOf(service));
    assert.equal(formatYaml(read.parameters), formatYaml(service.parameters));
    assert.deepEqual(read.credentialKeys, service.credentialKeys);
    const credentials = { host: "h", port: "1", password: "p" };
    assert.deepEqual(read.connectionDetails(credentials), service.connectionDetails(credentials));
  });
