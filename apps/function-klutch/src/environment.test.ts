import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ComposeRequest, ComposeResponse, Json } from "@klutch/crossplane";
import { valueAt } from "@klutch/kube-core";
import { compose } from "./compose.ts";

const labels = { "crossplane.io/claim-name": "db", "crossplane.io/claim-namespace": "team" };
const fixed = ["a1d46b5c-b639-4f43-85c7-e9a0e5f01f75", "1bf71cf3-9017-4846-bffc-b9b31872bfaf"];
const label = "klutch.anynines.com/service-namespace";
const asked = {
  environment: {
    apiVersion: "apiextensions.crossplane.io/v1beta1",
    kind: "EnvironmentConfig",
    matchLabels: { [label]: "team" },
  },
  brokers: {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ProviderConfig",
    matchLabels: { "klutch.anynines.com/service-type": "postgresql" },
  },
};

function environment(data: unknown, name = "acme", namespace = "team"): Json {
  return {
    apiVersion: "apiextensions.crossplane.io/v1beta1",
    kind: "EnvironmentConfig",
    metadata: { name, labels: { [label]: namespace } },
    data,
  };
}

const acme = environment({ organizationGuid: "acme-org", spaceGuid: "acme-space", other: [1] });

/** A request about an instance; `found`: Crossplane's answer to what was required, if it answered. */
function request(found: readonly Json[] | undefined, changes: Partial<ComposeRequest> = {}): ComposeRequest {
  return {
    composite: {
      apiVersion: "anynines.com/v1",
      kind: "XPostgresqlInstance",
      metadata: { name: "db-x1", labels },
      spec: { service: "s", plan: "p", claimRef: { namespace: "team", name: "db" } },
    },
    observed: {},
    input: { resource: "postgresql-instance" },
    ...(found === undefined ? {} : { required: { environment: found, brokers: [] } }),
    ...changes,
  };
}

function spaceOf({ resources }: ComposeResponse): readonly unknown[] {
  const fields = ["organizationGuid", "spaceGuid"];
  return fields.map((field) => valueAt(resources["managed"]?.resource, "spec", "forProvider", field));
}

/** A managed resource that exists. */
function living(forProvider: Json): ComposeRequest["observed"] {
  const resource = {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ServiceInstance",
    spec: { forProvider },
  };
  return { managed: { resource, connection: {} } };
}

function severities({ results = [] }: ComposeResponse): readonly string[] {
  return results.map(({ severity }) => severity);
}

test("a new instance is not made before Crossplane said which EnvironmentConfigs there are", () => {
  const answer = compose(request(undefined));
  assert.deepEqual(answer.required, asked);
  assert.deepEqual(answer.resources, {});
  // Where nothing is ever handed over this is the last answer: without a fatal result, which would end the asking.
  assert.equal(answer.isReady, false);
  assert.deepEqual(severities(answer), []);
  assert.match(answer.conditions?.[0]?.message ?? "", /does not hand EnvironmentConfigs to functions/);
});

test("a new instance is made where the EnvironmentConfig of its namespace says, and the same is required again", () => {
  const answer = compose(request([acme]));
  assert.deepEqual(spaceOf(answer), ["acme-org", "acme-space"]);
  assert.deepEqual(answer.required, asked);
  assert.equal(answer.isReady, undefined);
});

test("without an EnvironmentConfig the step's pair counts, else the fixed one", () => {
  const answer = compose(request([]));
  assert.deepEqual(spaceOf(answer), fixed);
  assert.deepEqual(answer.required, asked);
  const step = { resource: "postgresql-instance", organizationGuid: "step-org" };
  assert.deepEqual(spaceOf(compose(request([], { input: step }))), ["step-org", fixed[1]]);
  assert.deepEqual(spaceOf(compose(request([acme], { input: step }))), ["acme-org", "acme-space"]);
});

test("an instance that exists keeps what it has, whatever EnvironmentConfigs say now, and nothing is asked", () => {
  const observed = living({ organizationGuid: "old-org", spaceGuid: "old-space" });
  const broken = environment({ organizationGuid: 7 });
  for (const found of [undefined, [], [acme], [broken], [acme, acme]]) {
    const input = { resource: "postgresql-instance", organizationGuid: "step-org" };
    const answer = compose(request(found, { observed, input }));
    assert.deepEqual(spaceOf(answer), ["old-org", "old-space"]);
    assert.equal(answer.required, undefined);
    assert.deepEqual(answer.results, []);
  }
});

test("an instance that another Composition made under another name keeps what it has, too", () => {
  const { managed: theirs } = living({ organizationGuid: "old-org", spaceGuid: "old-space" });
  const observed = theirs === undefined ? {} : { "a9s-postgresql": theirs };
  const { resources, required } = compose(request([acme], { observed }));
  const fields = ["organizationGuid", "spaceGuid"];
  const kept = fields.map((field) =>
    valueAt(resources["a9s-postgresql"]?.resource, "spec", "forProvider", field),
  );
  assert.deepEqual([kept, required], [["old-org", "old-space"], undefined]);
});

test("an instance that exists is composed in any case, also when it does not say what it has", () => {
  for (const forProvider of [{}, { organizationGuid: "", spaceGuid: 7 }])
    assert.deepEqual(spaceOf(compose(request(undefined, { observed: living(forProvider) }))), fixed);
});

test("a database of another Composition is kept before anything is asked", () => {
  const object = { apiVersion: "kubernetes.crossplane.io/v1alpha2", kind: "Object" };
  for (const name of ["managed", "theirs"]) {
    const observed = { [name]: { resource: object, connection: {} } };
    assert.deepEqual(severities(compose(request(undefined, { observed }))), ["warning", "fatal"]);
  }
});

test("an EnvironmentConfig that cannot be used is named with field, value and what would be right, and nothing is made", () => {
  const space = { spaceGuid: "acme-space" };
  const organization = { organizationGuid: "acme-org" };
  for (const [data, problem] of [
    [
      undefined,
      /^data\.organizationGuid of EnvironmentConfig acme is missing; it must be a text of 1 to 128/,
    ],
    [{}, /^data\.organizationGuid of EnvironmentConfig acme is missing/],
    [[], /^data\.organizationGuid of EnvironmentConfig acme is missing/],
    ["acme-org", /^data\.organizationGuid of EnvironmentConfig acme is missing/],
    [space, /^data\.organizationGuid of EnvironmentConfig acme is missing/],
    [organization, /^data\.spaceGuid of EnvironmentConfig acme is missing; it must be a text/],
    [{ ...space, organizationGuid: 7 }, /^data\.organizationGuid of EnvironmentConfig acme is 7;/],
    [{ ...space, organizationGuid: null }, /^data\.organizationGuid of EnvironmentConfig acme is null;/],
    [{ ...space, organizationGuid: "" }, /^data\.organizationGuid of EnvironmentConfig acme is "";/],
    [{ ...organization, spaceGuid: "a b" }, /^data\.spaceGuid of EnvironmentConfig acme is "a b";/],
    [
      { ...organization, spaceGuid: "a\u001b[31m" },
      /^data\.spaceGuid of EnvironmentConfig acme is "a\\u001b\[31m";/,
    ],
    [
      { ...organization, spaceGuid: "a".repeat(129) },
      /^data\.spaceGuid of EnvironmentConfig acme is "a{98}…;/,
    ],
    [
      { ...organization, spaceGuid: { toString: "x" } },
      /^data\.spaceGuid of EnvironmentConfig acme is \{"toString":"x"\};/,
    ],
  ] as const)
    assertRefused([environment(data)], problem);
});

test("two EnvironmentConfigs for one namespace are both named, many of them only counted", () => {
  const [b, c, d, e] = ["b", "c", "d", "e"].map((name) => ({
    ...acme,
    metadata: { ...(environment({}, name)["metadata"] as object) },
  }));
  assertRefused(
    [acme, b ?? {}],
    /^the EnvironmentConfigs acme and b are labelled klutch\.anynines\.com\/service-namespace: team; only one can be;/,
  );
  assertRefused(
    [acme, b ?? {}, c ?? {}, d ?? {}, e ?? {}],
    /^the EnvironmentConfigs acme, b, c and 2 more are labelled/,
  );
});

test("an answer that was not requested is refused, so a mistake elsewhere gives no one the organisation of another tenant", () => {
  const theirs = environment({ organizationGuid: "their-org", spaceGuid: "their-space" }, "theirs", "other");
  const unlabelled = { ...acme, metadata: { name: "bare" } };
  const secret = { ...acme, kind: "Secret" };
  assertRefused(
    [theirs],
    /^Crossplane gave EnvironmentConfig theirs for an EnvironmentConfig labelled .*: team/,
  );
  assertRefused([acme, theirs], /^Crossplane gave EnvironmentConfig theirs/);
  assertRefused([unlabelled], /^Crossplane gave EnvironmentConfig bare/);
  assertRefused([secret], /^Crossplane gave Secret acme/);
  assertRefused([{}], /^Crossplane gave something without a name/);
});

function assertRefused(found: readonly Json[], problem: RegExp): void {
  const answer = compose(request(found));
  assert.deepEqual(answer.resources, {});
  assert.deepEqual(severities(answer), ["warning", "fatal"]);
  const before = "its organisation and space are unknown: ";
  const texts = [...(answer.results ?? []), ...(answer.conditions ?? [])].map(({ message }) => message ?? "");
  assert.equal(texts.length, 4);
  for (const text of texts) {
    assert.ok(text.startsWith(before), text);
    assert.match(text.slice(before.length), problem);
    assert.match(text, /; ask the operators of the control plane$/);
    assert.ok(text.length <= 1024, text);
  }
  assert.deepEqual(
    answer.conditions?.map(({ type, status, reason }) => `${type} ${status} ${reason}`),
    ["klutch.anynines.com/Ready False NoOrganization", "klutch.anynines.com/Synced False NoOrganization"],
  );
}

test("the refusal says which spec it is about, so that an agent shows it", () => {
  const { composite } = request([]);
  const mark = { "klutch.anynines.com/spec-digest": "0123456789abcdef" };
  const marked = { ...composite, metadata: { name: "db-x1", labels, annotations: mark } };
  for (const found of [undefined, [environment({})]]) {
    const { conditions = [] } = compose(request(found, { composite: marked }));
    assert.equal(conditions.at(-1)?.reason, "Sha256_0123456789abcdef");
  }
});

test("a namespaced composite is asked for by its own namespace, whatever its labels and spec say", () => {
  const composite = {
    metadata: { name: "db", namespace: "mine", labels },
    spec: { claimRef: { namespace: "team", name: "db" } },
  };
  const required = compose(request(undefined, { composite })).required?.["environment"];
  assert.deepEqual(required?.matchLabels, { [label]: "mine" });
});

test("bindings, backups and restores ask for no EnvironmentConfig", () => {
  for (const resource of ["service-binding", "backup", "restore"]) {
    const answer = compose(request(undefined, { input: { resource } }));
    assert.deepEqual(Object.keys(answer.required ?? {}), ["followed"]);
    assert.deepEqual(Object.keys(answer.resources), ["managed"]);
  }
});

test("nothing that a developer writes in a claim chooses the organisation", () => {
  const anything = fc.oneof(fc.constantFrom<unknown>("theirs", "other"), fc.jsonValue({ maxDepth: 2 }));
  const key = fc.oneof(
    fc.constantFrom(
      "organizationGuid",
      "spaceGuid",
      "namespace",
      "serviceNamespace",
      "environment",
      "data",
      label,
    ),
    fc.string(),
  );
  const written = fc.dictionary(key, anything);
  fc.assert(
    fc.property(written, written, written, written, (spec, parameters, annotations, own) => {
      const composite = {
        // Crossplane writes the labels of the claim over those of its author, and the reference to it over its spec.
        metadata: { name: "db-x1", annotations, labels: { ...own, ...labels } },
        spec: { ...spec, parameters, claimRef: { namespace: "team", name: "db" } },
        data: spec,
      };
      assert.deepEqual(compose(request(undefined, { composite })).required, asked);
      assert.deepEqual(spaceOf(compose(request([acme], { composite }))), ["acme-org", "acme-space"]);
      assert.deepEqual(spaceOf(compose(request([], { composite }))), fixed);
    }),
  );
});

test("whatever EnvironmentConfigs hold, an instance is made in both of one or not at all, and one that exists stays", () => {
  const value = fc.oneof(fc.constantFrom<unknown>("org", "", " ", undefined), fc.jsonValue());
  const guid = fc.stringMatching(/^[\x21-\x7e]{1,128}$/);
  const good = fc.record({ organizationGuid: guid, spaceGuid: guid }).map((data) => environment(data));
  const any = fc.oneof(
    good,
    fc
      .record({ organizationGuid: value, spaceGuid: value }, { requiredKeys: [] })
      .map((data) => environment(data)),
    fc.dictionary(fc.string(), fc.jsonValue()),
  );
  const answers = fc.oneof(
    good.map((one) => [one]),
    fc.array(any, { maxLength: 3 }),
  );
  let made = 0;
  fc.assert(
    fc.property(answers, (found) => {
      const answer = compose(request(found));
      const [organization, space] = spaceOf(answer);
      if (Object.keys(answer.resources).length === 0) assert.ok(severities(answer).includes("fatal"));
      else if (found.length === 0) assert.deepEqual([organization, space], fixed);
      else {
        made++;
        assert.deepEqual(
          { ...(found[0]?.["data"] as object) },
          { organizationGuid: organization, spaceGuid: space },
        );
        for (const guid of [organization, space]) assert.match(String(guid), /^[\x21-\x7e]{1,128}$/);
      }
      const observed = living({ organizationGuid: "old-org", spaceGuid: "old-space" });
      assert.deepEqual(spaceOf(compose(request(found, { observed }))), ["old-org", "old-space"]);
    }),
  );
  assert.ok(made > 5, `only ${made} were made`);
});
