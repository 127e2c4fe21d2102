import assert from "node:assert/strict";
import { test } from "node:test";
import type { ComposeRequest, Json } from "@klutch/crossplane";
import { recordAt, textAt, valueAt } from "@klutch/kube-core";
import { compose } from "./compose.ts";
import { composeIn } from "./testing/rounds.ts";

const label = (name: string): string => `klutch.anynines.com/${name}`;

function config(name: string, labels: Readonly<Record<string, string>>, more: Json = {}): Json {
  return {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ProviderConfig",
    metadata: { name, labels: { [label("service-type")]: "postgresql", ...labels } },
    spec: { serviceType: "servicebroker" },
    ...more,
  };
}

function environment(name: string, labels: Readonly<Record<string, string>>, data: unknown): Json {
  return {
    apiVersion: "apiextensions.crossplane.io/v1beta1",
    kind: "EnvironmentConfig",
    metadata: { name, labels },
    data,
  };
}

function namespace(name: string, owner?: string): Json {
  const annotations = owner === undefined ? {} : { [label("api-service-namespace")]: owner };
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name, labels: { "kubernetes.io/metadata.name": name }, annotations },
  };
}

const one = config("pg-one", { [label("region")]: "eu-1" });
const two = config("pg-two", { [label("region")]: "eu-2" });
const cluster = [one, two, namespace("team", "cluster-a/shop"), namespace("other", "cluster-b/shop")];
const onlyTwo = environment("a", { [label("cluster-namespace")]: "cluster-a" }, { regions: ["eu-2"] });

function request(spec: Json = {}, of = "team"): Omit<ComposeRequest, "required"> {
  return {
    composite: {
      apiVersion: "anynines.com/v1",
      kind: "XPostgresqlInstance",
      metadata: {
        name: "db-x1",
        labels: { "crossplane.io/claim-name": "db", "crossplane.io/claim-namespace": of },
      },
      spec: { service: "s", plan: "p", claimRef: { namespace: of, name: "db" }, ...spec },
    },
    observed: {},
    input: { resource: "service-instance", type: "postgresql" },
  };
}

/** Returns the ProviderConfig of the instance, or the reason and the words of the claim. */
function placed(objects: readonly Json[], asked = request()): string {
  const { answer } = composeIn(objects, asked);
  const made = answer.resources["managed"]?.resource;
  if (made !== undefined) return textAt(made, "spec", "providerConfigRef", "name") ?? "none";
  const [ready] = answer.conditions ?? [];
  assert.ok(
    answer.results?.some(({ severity, message }) => severity === "fatal" && message === ready?.message),
  );
  return `${ready?.reason}: ${ready?.message}`;
}

test("with no labelled broker, an instance is composed as before regions, in two calls", () => {
  const { answer, calls } = composeIn([namespace("team")], request());
  assert.equal(calls, 2);
  const { resource } = answer.resources["managed"] ?? {};
  assert.deepEqual(recordAt(resource, "metadata", "labels"), {
    "crossplane.io/claim-name": "db",
    "crossplane.io/claim-namespace": "team",
  });
  assert.deepEqual(valueAt(resource, "spec", "providerConfigRef"), { name: "postgresql-service-broker" });
  assert.equal(valueAt(answer.compositeStatus, "managed", "region"), undefined);
});

test("an instance is made in the region of its claim, which its managed resource and its status show", () => {
  const { answer, calls } = composeIn(cluster, request({ region: "eu-2" }));
  assert.equal(calls, 4);
  const { resource } = answer.resources["managed"] ?? {};
  assert.equal(textAt(resource, "spec", "providerConfigRef", "name"), "pg-two");
  const { "klutch.io/instance-type": type, [label("region")]: region } = recordAt(
    resource,
    "metadata",
    "labels",
  );
  assert.deepEqual([type, region], ["postgresql", "eu-2"]);
  assert.equal(valueAt(answer.compositeStatus, "managed", "region"), "eu-2");
});

test("the rule of an app cluster holds for its namespaces only, and one of a namespace goes before it", () => {
  const objects = [...cluster, onlyTwo];
  assert.equal(placed(objects), "pg-two");
  assert.match(
    placed(objects, request({ region: "eu-1" })),
    /^RegionNotAvailable: spec\.region is "eu-1".*one of: eu-2$/,
  );
  assert.equal(placed(objects, request({ region: "eu-1" }, "other")), "pg-one");
  const own = environment("n", { [label("service-namespace")]: "team" }, { regions: ["eu-1", "eu-2"] });
  assert.equal(placed([...objects, own]), "pg-one");
  // A default of the namespace does not lead out of the regions of its app cluster.
  const wish = environment("n", { [label("service-namespace")]: "team" }, { region: "eu-1" });
  assert.equal(placed([...objects, wish]), "pg-two");
});

test("organisation and space stay as they are beside a rule of regions", () => {
  const data = { region: "eu-1", organizationGuid: "org", spaceGuid: "space" };
  const own = environment("n", { [label("service-namespace")]: "team" }, data);
  const { answer } = composeIn([...cluster, own], request());
  const provider = recordAt(answer.resources["managed"]?.resource, "spec", "forProvider");
  assert.deepEqual([provider["organizationGuid"], provider["spaceGuid"]], ["org", "space"]);
  const half = environment(
    "n",
    { [label("service-namespace")]: "team" },
    { region: "eu-1", spaceGuid: "space" },
  );
  assert.match(
    placed([...cluster, half]),
    /^NoOrganization: .*data\.organizationGuid of EnvironmentConfig n is missing/,
  );
});

test("mistakes in rules are named with EnvironmentConfig, field and value", () => {
  const rule = (data: unknown): string =>
    placed([...cluster, environment("bad", { [label("cluster-namespace")]: "cluster-a" }, data)]);
  for (const [data, words] of [
    [{ regions: [] }, /data\.regions of EnvironmentConfig bad is \[\]; it must be a list of 1 to 100 names/],
    [{ regions: "eu-1" }, /data\.regions of EnvironmentConfig bad is "eu-1"/],
    [{ regions: ["eu-1", 7] }, /data\.regions of EnvironmentConfig bad is \["eu-1",7\]/],
    [
      { region: ["eu-1"] },
      /data\.region of EnvironmentConfig bad is \["eu-1"\]; it must be the name of a region/,
    ],
    [{ region: "eu 1" }, /data\.region of EnvironmentConfig bad is "eu 1"/],
    [
      { region: "eu-1", regions: ["eu-2"] },
      /is "eu-1", which is not in its data\.regions \["eu-2"\]; add it there/,
    ],
    [{ regions: ["mars"] }, /the region mars.*has no broker/],
  ] as const)
    assert.match(
      rule(data),
      new RegExp(`^RegionMisconfigured: its region is unknown: .*${words.source}.*ask the operators`),
    );
  assert.match(
    placed([...cluster, onlyTwo, onlyTwo]),
    /^RegionMisconfigured: .*EnvironmentConfigs a and a are labelled/,
  );
});

test("an instance that exists stays at its broker, whatever is labelled or wanted later, and nothing is asked", () => {
  const { answer: made } = composeIn(cluster, request({ region: "eu-1" }));
  const { resource } = made.resources["managed"] ?? {};
  assert.ok(resource !== undefined);
  const observed = { managed: { resource, connection: {} } };
  for (const spec of [{ region: "eu-1" }, { region: "eu-2" }, {}])
    for (const objects of [[], cluster, [two, onlyTwo]]) {
      const { answer, calls } = composeIn(objects, { ...request(spec), observed });
      assert.deepEqual([calls, answer.required], [1, undefined]);
      assert.deepEqual(answer.resources["managed"]?.resource, resource);
    }
  // One that was made before regions keeps the name that follows from the type, and gets no label.
  const { answer: before } = composeIn([], request());
  const old = before.resources["managed"]?.resource ?? {};
  const { answer } = composeIn([...cluster, onlyTwo], {
    ...request({ region: "eu-2" }),
    observed: { managed: { resource: old, connection: {} } },
  });
  assert.deepEqual(answer.resources["managed"]?.resource, old);
});

test("a Crossplane that lies or keeps silent leads to no broker of others", () => {
  const silent = compose({ ...request(), required: { environment: [], brokers: [one] } });
  assert.deepEqual(silent.resources, {});
  assert.match(silent.conditions?.[0]?.message ?? "", /does not hand Namespaces to functions/);
  const asked = { ...request({ region: "eu-1" }) };
  for (const lie of [
    config("pg-lie", { [label("region")]: "eu-1", [label("service-type")]: "mariadb" }),
    config("pg-lie", { [label("region")]: "eu-1" }, { kind: "ClusterProviderConfig" }),
    config("pg-lie", { [label("region")]: "eu-1" }, { spec: { serviceType: "backupmanager" } }),
    config("../lie", { [label("region")]: "eu-1" }),
  ]) {
    const answer = compose({ ...asked, required: { environment: [], brokers: [lie] } });
    assert.match(
      answer.conditions?.[0]?.message ?? "",
      /spec\.region is "eu-1", where no postgresql can be made/,
    );
  }
  // Without its Namespace, the rule of the app cluster would be passed over.
  for (const found of [[], [namespace("other", "cluster-b/shop")], [namespace("team"), namespace("team")]]) {
    const answer = compose({ ...asked, required: { environment: [], brokers: [one], namespace: found } });
    assert.deepEqual(answer.resources, {});
    assert.match(answer.conditions?.[0]?.message ?? "", /Crossplane did not give the Namespace team/);
  }
  const foreign = compose({
    ...request(),
    required: {
      environment: [],
      brokers: [one, two],
      namespace: [namespace("team", "cluster-a/shop")],
      "cluster-environment": [
        environment("b", { [label("cluster-namespace")]: "cluster-b" }, { region: "eu-1" }),
      ],
    },
  });
  assert.match(
    foreign.conditions?.[0]?.message ?? "",
    /Crossplane gave EnvironmentConfig b for an EnvironmentConfig labelled/,
  );
});

test("nothing in a claim chooses whose rule holds", () => {
  const lies = {
    [label("cluster-namespace")]: "cluster-b",
    [label("api-service-namespace")]: "cluster-b/shop",
  };
  const asked = request({ region: "eu-1", regions: ["eu-1"] });
  const metadata = recordAt(asked.composite, "metadata");
  const composite = {
    ...asked.composite,
    metadata: { ...metadata, labels: { ...lies, ...recordAt(metadata, "labels") }, annotations: lies },
  };
  assert.match(placed([...cluster, onlyTwo], { ...asked, composite }), /^RegionNotAvailable/);
});

test("a namespaced claim has a ClusterProviderConfig, and a service with a field of its own called region no choice", () => {
  const clusterConfig = config(
    "pg-m",
    { [label("region")]: "eu-1" },
    {
      apiVersion: "dataservices.m.anynines.com/v1",
      kind: "ClusterProviderConfig",
    },
  );
  const composite = { metadata: { name: "db", namespace: "team" }, spec: { region: "eu-1" } };
  const asked = { ...request(), composite };
  assert.equal(placed([...cluster, clusterConfig], asked), "pg-m");
  const input = { ...request().input, takesRegion: false };
  assert.equal(placed(cluster, { ...request({ region: "somewhere" }), input }), "postgresql-service-broker");
});
