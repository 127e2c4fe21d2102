import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  chooseBroker,
  type BrokerQuestion,
  type ChosenBroker,
  type KnownBroker,
  type NoBroker,
  readBroker,
} from "./broker-choice.ts";

function broker(name: string, region: string | undefined, more: Partial<KnownBroker> = {}): KnownBroker {
  return { name, region, about: undefined, isDefault: false, isReserved: false, takesNew: true, ...more };
}

const usual = "postgresql-service-broker";
const one = broker("one", "eu-1", { about: "Frankfurt" });
const two = broker("two", "eu-2");
const secret = broker("secret", "eu-3", { isReserved: true });

function choose(
  brokers: readonly KnownBroker[],
  more: Partial<BrokerQuestion> = {},
): ChosenBroker | NoBroker {
  return chooseBroker({ type: "postgresql", wanted: undefined, brokers, rule: {}, ...more });
}

function refusal(brokers: readonly KnownBroker[], more: Partial<BrokerQuestion>): string {
  const chosen = choose(brokers, more);
  assert.ok("reason" in chosen, JSON.stringify(chosen));
  return `${chosen.reason}: ${chosen.message}`;
}

test("without labels, regions and rules the name follows from the type, as before", () => {
  assert.deepEqual(choose([]), { config: usual, region: undefined });
  assert.deepEqual(choose([one, two]), { config: usual, region: undefined });
});

test("a claim has the broker of its region", () => {
  assert.deepEqual(choose([one, two], { wanted: "eu-2" }), { config: "two", region: "eu-2" });
});

test("a region that does not exist and one of others are refused in the same words, with the allowed ones", () => {
  const words = (region: string): string =>
    refusal([one, two, secret], { wanted: region }).replace(region, "it");
  assert.equal(words("eu-3"), words("mars"));
  assert.equal(
    words("mars"),
    'RegionNotAvailable: spec.region is "it", where no postgresql can be made; nothing was created, so delete the claim and ' +
      "create it again with spec.region as one of: eu-1 (Frankfurt), eu-2",
  );
  assert.match(refusal([], { wanted: "eu-1" }), /create it again without spec\.region$/);
});

test("a rule allows its regions only, the reserved ones among them, and the first that takes instances is the default", () => {
  const rule = { regions: ["eu-3", "eu-1"] };
  assert.deepEqual(choose([one, two, secret], { rule }), { config: "secret", region: "eu-3" });
  assert.deepEqual(choose([one, two, { ...secret, takesNew: false }], { rule }), {
    config: "one",
    region: "eu-1",
  });
  assert.deepEqual(choose([one, two, secret], { rule, wanted: "eu-3" }), {
    config: "secret",
    region: "eu-3",
  });
  assert.match(
    refusal([one, two, secret], { rule, wanted: "eu-2" }),
    /^RegionNotAvailable.*one of: eu-1 \(Frankfurt\), eu-3$/,
  );
  const byDefault = { region: "eu-3" };
  assert.deepEqual(choose([one, secret], { rule: byDefault }), { config: "secret", region: "eu-3" });
  assert.deepEqual(choose([one, secret], { rule: byDefault, wanted: "eu-3" }), {
    config: "secret",
    region: "eu-3",
  });
});

test("a drained broker gets nothing new, and another one can take over its region", () => {
  const drained = { ...one, takesNew: false };
  assert.match(refusal([drained, two], { wanted: "eu-1" }), /^RegionNotAvailable.*one of: eu-2$/);
  assert.deepEqual(choose([drained, two, broker("new", "eu-1")], { wanted: "eu-1" }), {
    config: "new",
    region: "eu-1",
  });
  assert.match(
    refusal([drained], { rule: { region: "eu-1" } }),
    /^RegionMisconfigured.*takes no new instances: ProviderConfig one is drained; .*ask the operators/,
  );
  const usualDrained = broker(usual, undefined, { takesNew: false });
  assert.match(
    refusal([usualDrained, two], {}),
    /^RegionNotAvailable: postgresql is made in no region by default.*eu-2$/,
  );
});

test("mistakes of operators are named, with the ProviderConfigs and the next step", () => {
  const twin = broker("a-twin", "eu-1");
  assert.match(
    refusal([one, twin], { wanted: "eu-1" }),
    /^RegionMisconfigured.*ProviderConfig a-twin, one both claim the region eu-1 of postgresql; drain or relabel all but one; ask the operators/,
  );
  assert.match(
    refusal([one], { rule: { regions: ["eu-9"] } }),
    /^RegionMisconfigured.*the region eu-9.*has no broker; label a ProviderConfig with klutch\.anynines\.com\/region/,
  );
  const defaults = [one, two].map((known) => ({ ...known, isDefault: true }));
  assert.match(refusal(defaults, {}), /^RegionMisconfigured.*one, two both are labelled .*default-broker/);
  assert.deepEqual(choose([{ ...one, isDefault: true }, two]), { config: "one", region: "eu-1" });
});

test("a ProviderConfig is read by its labels; a value that is no word counts as none", () => {
  const label = (name: string): string => `klutch.anynines.com/${name}`;
  const metadata = {
    name: "one",
    labels: { [label("region")]: "eu-1", [label("drained")]: "yes", [label("reserved")]: true },
    annotations: { [label("about")]: ` Frank\u001b[31mfurt\n${"x".repeat(100)}` },
  };
  const read = readBroker({ metadata });
  assert.deepEqual({ ...read, about: undefined }, broker("one", "eu-1"));
  assert.match(read?.about ?? "", /^Frank \[31mfurt x+…$/);
  assert.equal(readBroker({ metadata: { ...metadata, name: "../etc" } }), undefined);
  assert.equal(readBroker({}), undefined);
  assert.equal(
    readBroker({ metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } })?.takesNew,
    false,
  );
});

const region: fc.Arbitrary<string> = fc.constantFrom("eu-1", "eu-2", "eu-3", "mars");
const anyBroker: fc.Arbitrary<KnownBroker> = fc.record({
  name: fc.constantFrom(usual, "a", "b", "c", "d"),
  region: fc.option(region, { nil: undefined }),
  about: fc.option(fc.constantFrom("Frankfurt", "far away"), { nil: undefined }),
  isDefault: fc.boolean(),
  isReserved: fc.boolean(),
  takesNew: fc.boolean(),
});

test("whatever is labelled, a broker is chosen that takes instances in an allowed region, or words without a region of others", () => {
  const question = fc.record({
    type: fc.constant("postgresql"),
    wanted: fc.option(region, { nil: undefined }),
    brokers: fc.uniqueArray(anyBroker, { selector: ({ name }) => name, maxLength: 5 }),
    rule: fc.record(
      { regions: fc.uniqueArray(region, { minLength: 1, maxLength: 3 }), region },
      { requiredKeys: [] },
    ),
  });
  fc.assert(
    fc.property(question, fc.func(fc.integer()), (asked, rank) => {
      const { brokers, rule, wanted } = asked;
      const chosen = chooseBroker(asked);
      const shuffled = brokers.toSorted((left, right) => rank(left) - rank(right));
      assert.deepEqual(chooseBroker({ ...asked, brokers: shuffled }), chosen);
      if ("reason" in chosen) {
        const others = brokers.filter(
          (known) =>
            known.isReserved &&
            known.region !== undefined &&
            rule.regions?.includes(known.region) !== true &&
            rule.region !== known.region &&
            wanted !== known.region &&
            !brokers.some((beside) => beside.region === known.region && !beside.isReserved),
        );
        for (const known of others) assert.ok(!chosen.message.includes(known.region ?? ""), chosen.message);
        return;
      }
      if (wanted !== undefined) assert.equal(chosen.region, wanted);
      const known = brokers.find(({ name }) => name === chosen.config);
      if (known === undefined)
        assert.deepEqual([chosen, wanted], [{ config: usual, region: undefined }, undefined]);
      else {
        assert.ok(known.takesNew);
        assert.equal(known.region, chosen.region);
      }
      if (known?.isReserved === true)
        assert.ok(rule.region === chosen.region || rule.regions?.includes(chosen.region ?? "") === true);
      if (rule.regions !== undefined && rule.region === undefined)
        assert.ok(rule.regions.includes(chosen.region ?? ""));
    }),
    { numRuns: 2_000 },
  );
});
