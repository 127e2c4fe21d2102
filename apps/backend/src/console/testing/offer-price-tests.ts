/** Tests of prices and of a damaged ledger at the cluster of `console.real.test.ts`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { crdNameOf } from "@klutch/api";
import { customResourceDefinitions, type DynamicObject, recordsAt } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { databases } from "../../testing/provider.ts";
import type { ActionStage } from "./action-tests.ts";

/** Adds the test. The ledger `theirs.damaged` counts more seconds than any tenant can use. */
export function offerPriceTests({
  client,
  logIn,
  get,
  idsOf,
}: Pick<ActionStage, "client" | "logIn" | "get" | "idsOf">): void {
  void test("an offer shows its plans with their prices, and a damaged ledger is a problem for those who may list ledgers", async () => {
    const [all, member] = [await logIn("operator"), await logIn("developer")];
    const crd = { name: crdNameOf({ group: databases.group, resource: databases.plural }) };
    const rules = [
      {
        rule: '!has(self.plan) || self.plan in ["small", "theirs-only"]',
        message: "Unsupported plan used for x",
      },
      { rule: '!has(self.service) || self.service in ["pg"]', message: "Unsupported service used for x" },
    ];
    const found = await client.get<DynamicObject>(customResourceDefinitions, crd);
    const [version] = recordsAt(found, "spec", "versions");
    const schema = {
      type: "object",
      properties: {
        status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        spec: {
          type: "object",
          properties: { service: { type: "string" }, plan: { type: "string" } },
          "x-kubernetes-preserve-unknown-fields": true,
          "x-kubernetes-validations": rules,
        },
      },
    };
    await client.mergePatch(customResourceDefinitions, crd, {
      spec: { versions: [{ ...version, schema: { openAPIV3Schema: schema } }] },
    });
    const priced = [
      { name: "small", words: "", perMonth: { amount: "365.00", currency: "EUR" } },
      { name: "theirs-only", words: "" },
    ];
    for (const browser of [all, member])
      await waitFor("the plans", async () => {
        const { rows } = (await get(browser, "api/rows/offers")).body;
        return isDeepStrictEqual(rows[0]?.plans, priced);
      });
    const problems = await idsOf(all, "problems");
    assert.ok(problems.includes("cost/theirs.damaged"), problems.join());
    assert.ok(!(await idsOf(member, "problems")).some((id) => id.startsWith("cost/")));
  });
}
