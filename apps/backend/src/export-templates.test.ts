import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type APIServiceExportTemplate,
  hiddenFieldsAnnotation,
  serviceBackupsAnnotation,
  serviceTypeLabel,
} from "@klutch/api";
import { type KubeObject, keyOf } from "@klutch/kube-core";
import { anyObject, crdObject } from "@klutch/kube-testing";
import { ExportTemplates } from "./export-templates.ts";
import { databases, templateObject } from "./testing/provider.ts";

/** Caches that tests fill, and the answers from them. */
function start(): {
  readonly offers: ExportTemplates;
  readonly template: (hidden?: string) => void;
  readonly kind: (scope?: "Cluster") => void;
  readonly crds: Map<string, KubeObject>;
} {
  const crds = new Map<string, KubeObject>();
  const all = new Map<string, APIServiceExportTemplate>();
  const offers = new ExportTemplates({
    templates: { get: (key) => all.get(key), list: () => all.values() },
    crds: { get: (key) => crds.get(key) },
    scopes: { consumerScope: "Namespaced", clusterScopedIsolation: "Prefixed" },
  });
  const template = (hidden?: string): void => {
    const made = templateObject(databases.group, databases.plural) as unknown as APIServiceExportTemplate;
    const annotations = hidden === undefined ? {} : { [hiddenFieldsAnnotation]: hidden };
    all.set(keyOf(made), { ...made, metadata: { ...made.metadata, annotations } });
  };
  const kind = (scope?: "Cluster"): void => {
    const type = { ...databases, namespaced: scope === undefined };
    const spec = { type: "object", properties: { plan: { type: "string", description: "The plan." } } };
    const made = crdObject(type, { properties: { spec, status: anyObject } });
    crds.set(made.metadata.name ?? "", made);
  };
  return { offers, template, kind, crds };
}
const fieldsOf = (offers: ExportTemplates): readonly string[] | undefined =>
  offers.find(databases.group, databases.plural)?.fields.map(({ name }) => name);

test("an offer is read once, however often it is asked for", () => {
  const { offers, template, kind } = start();
  template();
  kind();
  const [first] = offers.list();
  assert.ok(first !== undefined);
  assert.equal(offers.list()[0], first);
  assert.equal(offers.find(databases.group, databases.plural), first);
});

test("a template or a kind that changed, came or went changes the offer at once", () => {
  const { offers, template, kind, crds } = start();
  kind();
  assert.equal(fieldsOf(offers), undefined, "without a template");
  template();
  assert.deepEqual(fieldsOf(offers), ["plan"]);
  template("spec.plan");
  assert.deepEqual(fieldsOf(offers), [], "hidden now");
  template();
  kind("Cluster");
  assert.equal(fieldsOf(offers), undefined, "of a scope that is not shared");
  assert.equal(fieldsOf(offers), undefined, "and it stays so");
  kind();
  assert.deepEqual(fieldsOf(offers), ["plan"]);
  crds.clear();
  assert.equal(fieldsOf(offers), undefined, "without a kind");
});

test("a kind that needs backups takes only types of services that have them, in the same API group", () => {
  const of = (plural: string, type: string | undefined, backups?: string, group = "example.org") => {
    const made = templateObject(group, plural) as unknown as APIServiceExportTemplate;
    const labels = type === undefined ? {} : { [serviceTypeLabel]: type };
    const annotations = backups === undefined ? {} : { [serviceBackupsAnnotation]: backups };
    return { ...made, metadata: { ...made.metadata, labels, annotations } };
  };
  const all = [
    of("metrics", "metrics", "none"),
    of("databases", "databases"),
    of("queues", "queues", "some"),
    of("metrics", "databases", "none", "elsewhere.org"),
  ];
  const offers = new ExportTemplates({
    templates: { get: () => undefined, list: () => all.values() },
    crds: { get: () => undefined },
    scopes: { consumerScope: "Namespaced", clusterScopedIsolation: "Prefixed" },
  });
  const types = (template?: APIServiceExportTemplate): readonly string[] =>
    offers.serviceTypes("example.org", template);
  assert.deepEqual(types(of("backups", undefined, "needed")), ["databases", "queues"]);
  assert.deepEqual(types(of("bindings", undefined)), ["databases", "metrics", "queues"]);
  assert.deepEqual(types(undefined), ["databases", "metrics", "queues"]);
});
