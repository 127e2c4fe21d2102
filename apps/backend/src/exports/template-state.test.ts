import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type APIServiceExportTemplate,
  consumerScopeAnnotation,
  hiddenFieldsAnnotation,
  type PermissionClaim,
} from "@klutch/api";
import { findCondition, type KubeObject, setConditions } from "@klutch/kube-core";
import { ownClaim } from "../testing/provider.ts";
import { templateState, type TemplateStateInput } from "./template-state.ts";

function crd(spec: object = {}, version: object = {}): KubeObject {
  const schema = { openAPIV3Schema: { type: "object" } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.org" },
    spec: {
      group: "example.org",
      names: { kind: "Widget", plural: "widgets", singular: "widget", listKind: "WidgetList" },
      scope: "Namespaced",
      versions: [{ name: "v1", served: true, storage: true, schema, ...version }],
      ...spec,
    },
  };
}

function template(
  selector: object = {},
  permissionClaims: readonly PermissionClaim[] = [],
  annotations: Readonly<Record<string, string>> = {},
): APIServiceExportTemplate {
  return {
    apiVersion: "example-backend.klutch.anynines.com/v1alpha1",
    kind: "APIServiceExportTemplate",
    metadata: { namespace: "default", name: "widgets", annotations },
    spec: {
      APIServiceSelector: { group: "example.org", resource: "widgets", ...selector },
      permissionClaims,
    },
  };
}

/** `Valid` and `Offered`, and `Ready` as their summary. */
function stateOf(input: Partial<TemplateStateInput> = {}): {
  readonly [type in "valid" | "offered" | "ready"]: string;
} {
  const own = input.template ?? template();
  const { conditions } = templateState({
    template: own,
    counting: own,
    crd: crd(),
    crdNames: ["widgets.example.org"],
    consumerScope: "Namespaced",
    clusterScopedIsolation: "Prefixed",
    ...input,
  });
  const all = setConditions([], conditions, 0);
  const textOf = (type: string): string => {
    const { status = "", severity = "", reason = "", message = "" } = findCondition(all, type) ?? {};
    return [status, severity, reason, message].filter((word) => word !== "").join(" ");
  };
  return { valid: textOf("Valid"), offered: textOf("Offered"), ready: textOf("Ready") };
}

test("a template of a kind that exists is valid and offered", () => {
  assert.deepEqual(stateOf(), { valid: "True", offered: "True", ready: "True" });
});

test("a misspelt resource is not valid, not offered, and the message has the name and those that exist", () => {
  const crdNames = ["gadgets.example.org", "widgets.example.org", "others.example.com"];
  const { valid, offered, ready } = stateOf({
    template: template({ resource: "wodgets" }),
    crd: undefined,
    crdNames,
  });
  assert.match(
    valid,
    /^False Error CRDNotFound CustomResourceDefinition wodgets\.example\.org does not exist .*spec\.APIServiceSelector.* gadgets, widgets$/,
  );
  assert.match(offered, /^False Info NotValid/);
  assert.equal(ready, valid);
});

const faults: readonly (readonly [string, Partial<TemplateStateInput>, RegExp])[] = [
  [
    "a kind of Kubernetes",
    { template: template({ group: "apps", resource: "deployments" }), crd: undefined },
    /^False Error ApiNotAllowed .*groups without a dot/,
  ],
  [
    "a kind of Klutch itself",
    { template: template({ group: "klutch.anynines.com", resource: "clusterbindings" }), crd: undefined },
    /^False Error ApiNotAllowed .*belongs to Klutch/,
  ],
  [
    "a kind without a served version",
    { crd: crd({}, { served: false }) },
    /^False Error CRDInvalid .*serves no version/,
  ],
  [
    "a hidden field that is required",
    {
      template: template({}, [], { [hiddenFieldsAnnotation]: "spec.size" }),
      crd: crd(
        {},
        {
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: {
                spec: { type: "object", required: ["size"], properties: { size: { type: "string" } } },
              },
            },
          },
        },
      ),
    },
    /^False Error CRDInvalid .*spec\.size.*every object must have/,
  ],
  [
    "a version that is not served, which is offered all the same",
    { template: template({ version: "v2" }) },
    /^False Warning VersionNotServed .*"v2".*v1/,
  ],
  [
    "a claim that no plugin accepts",
    { template: template({}, [ownClaim("secrets"), ownClaim("secret")]) },
    /^False Warning ClaimRefused spec\.permissionClaims\[1\] \(secret\).*kubectl bind refuses/,
  ],
  [
    "a claim of a kind that does not exist",
    { template: template({}, [ownClaim("wodgets", "example.org")]) },
    /^False Warning ClaimRefused spec\.permissionClaims\[0\] \(wodgets\.example\.org\).*does not exist/,
  ],
];
for (const [what, input, words] of faults) {
  test(`a template with ${what} says so`, () => {
    const { valid, offered } = stateOf(input);
    assert.match(valid, words);
    assert.match(offered, valid.startsWith("False Warning") ? /^True$/ : /^False Info NotValid/);
  });
}

test("of two templates of one API one counts, and the other names it", () => {
  const other = template();
  const counting = { ...other, metadata: { namespace: "a", name: "first" } };
  const { valid, offered } = stateOf({ template: other, counting });
  assert.equal(valid, "True");
  assert.match(offered, /^False Warning OtherTemplate APIServiceExportTemplate a\/first .*counts/);
});

test("a kind that this backend cannot share by its flags is valid and not offered", () => {
  const wide = crd({ scope: "Cluster" });
  const offeredWith = (input: Partial<TemplateStateInput>): string =>
    stateOf({ crd: wide, ...input }).offered;
  assert.match(offeredWith({}), /^False Error ScopeNotAllowed .*--consumer-scope=cluster/);
  assert.equal(offeredWith({ consumerScope: "Cluster" }), "True");
  const isolated = { consumerScope: "Cluster", clusterScopedIsolation: "Namespaced" } as const;
  assert.match(offeredWith(isolated), /^False Error ScopeNotAllowed .*--cluster-scoped-isolation/);
  const lifted = template({}, [], { [consumerScopeAnnotation]: "Cluster" });
  assert.match(stateOf({ template: lifted }).offered, /^False Error ScopeNotAllowed/);
});

test("a hostile text in a template stays one bounded line of a message", () => {
  const version = `v2\u001b[2J\u202e\n${"x".repeat(100_000)}`;
  const { valid } = stateOf({ template: template({ version }) });
  assert.ok(valid.length < 1_200, `${valid.length}`);
  assert.doesNotMatch(valid, /[\p{Cc}\p{Cf}]/u);
});

test("a kind that no operator listed is not offered, nor is one whose permission claim is not listed", () => {
  const isOffered = (group: string, resource: string): boolean =>
    `${resource}.${group}` === "widgets.example.org";
  assert.equal(stateOf({ isOffered }).offered, "True");
  const listed = { isOffered, crd: crd({ group: "example.com" }), crdNames: ["widgets.example.com"] };
  assert.match(
    stateOf({ ...listed, template: template({ group: "example.com" }) }).offered,
    /^False .*no rights on widgets\.example\.com/,
  );
  const secret = {
    group: "",
    resource: "secrets",
    version: "v1",
    selector: { owner: "Provider" },
  } as PermissionClaim;
  assert.match(
    stateOf({ isOffered, template: template({}, [secret]) }).offered,
    /^False .*no rights on secrets/,
  );
});
