/** Tests which app clusters would lose what if RBAC decided who may bind. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  appClusterBindingAnnotation,
  boundByAnnotation,
  identityAnnotation,
  issuerAnnotation,
  membersAnnotation,
  templateGroup,
} from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import { mayBindBy, type RbacObjects } from "./bind-rights.ts";
import type { Program } from "./programs.ts";
import {
  type BoundApis,
  lookAtWhoMayBind,
  lossesOf,
  type PeopleRules,
  peopleRulesOf,
} from "./who-may-bind.ts";

const issuer = "https://idp.example.org";
const object = (kind: string, ref: object, more: object = {}): DynamicObject => ({
  apiVersion: "v1",
  kind,
  metadata: { ...ref },
  ...more,
});
const rule = (verbs: readonly string[], resourceNames?: readonly string[], more: object = {}): object => ({
  apiGroups: [templateGroup],
  resources: ["apiserviceexporttemplates"],
  verbs,
  ...(resourceNames === undefined ? {} : { resourceNames }),
  ...more,
});
const clusterRole = (name: string, ...rules: readonly object[]): DynamicObject =>
  object("ClusterRole", { name }, { rules });
/** `subject` is `User ann` or `Group team`. */
function binding(role: string, subject: string, namespace?: string, kind = "ClusterRole"): DynamicObject {
  const [subjectKind, name] = subject.split(" ");
  const ref = { name: `${role}-${name}`, ...(namespace === undefined ? {} : { namespace }) };
  return object("Binding", ref, {
    roleRef: { kind, name: role },
    subjects: [{ kind: subjectKind, name }],
  });
}
const noRbac: RbacObjects = { roles: [], clusterRoles: [], roleBindings: [], clusterRoleBindings: [] };
const ann = { user: "oidc:ann", groups: ["oidc:team-a"] };
const databases = { namespace: "default", name: "databases" };

test("a right is one of the user, of a group or of everyone, for all templates or for the named ones", () => {
  const named = clusterRole("named", rule(["get", "bind"], ["databases"]));
  const all = clusterRole("all", rule(["bind"]));
  for (const [roles, subject, isAllowed] of [
    [[named], "User oidc:ann", true],
    [[named], "Group oidc:team-a", true],
    [[named], "Group system:authenticated", true],
    [[named], "User oidc:bob", false],
    [[named], "Group oidc:ann", false],
    [[all], "User oidc:ann", true],
    [[clusterRole("all", rule(["bind"], ["queues"]))], "User oidc:ann", false],
    [[clusterRole("all", rule(["get", "list"]))], "User oidc:ann", false],
    [
      [clusterRole("all", rule(["*"], undefined, { apiGroups: ["*"], resources: ["*"] }))],
      "User oidc:ann",
      true,
    ],
    [
      [clusterRole("all", rule(["bind"], undefined, { apiGroups: ["klutch.anynines.com"] }))],
      "User oidc:ann",
      false,
    ],
    [[clusterRole("all", rule(["bind"], undefined, { resources: ["grants"] }))], "User oidc:ann", false],
    [[clusterRole("other", rule(["bind"]))], "User oidc:ann", false],
    [[object("ClusterRole", { name: "all" }, { rules: "odd" })], "User oidc:ann", false],
  ] as const) {
    const role = roles[0].metadata.name === "named" ? "named" : "all";
    const rbac = { ...noRbac, clusterRoles: roles, clusterRoleBindings: [binding(role, subject)] };
    assert.equal(mayBindBy(rbac)(ann, databases), isAllowed, `${JSON.stringify(roles)} ${subject}`);
  }
});

test("a RoleBinding counts in its own namespace only, with a Role of it or a ClusterRole", () => {
  const role = object("Role", { namespace: "default", name: "all" }, { rules: [rule(["bind"])] });
  const inNamespace = (namespace: string, kind: string): boolean =>
    mayBindBy({
      ...noRbac,
      roles: [role],
      clusterRoles: [clusterRole("all", rule(["bind"]))],
      roleBindings: [binding("all", "User oidc:ann", namespace, kind)],
    })(ann, databases);
  assert.equal(inNamespace("default", "Role"), true);
  assert.equal(inNamespace("default", "ClusterRole"), true);
  assert.equal(inNamespace("elsewhere", "ClusterRole"), false);
  assert.equal(inNamespace("elsewhere", "Role"), false);
});

const everyone: PeopleRules = {
  authorization: "everyone",
  usernameClaim: "sub",
  usernamePrefix: "oidc:",
  issuer,
};
const tenant = (name: string, subject: string, more: Readonly<Record<string, string>> = {}): DynamicObject =>
  object("Namespace", {
    name,
    annotations: { [identityAnnotation]: `${subject}#abc`, [issuerAnnotation]: issuer, ...more },
  });
const template = (name: string, resource: string): DynamicObject =>
  object(
    "APIServiceExportTemplate",
    { namespace: "default", name },
    {
      spec: { APIServiceSelector: { group: "example.org", resource } },
    },
  );
const bound = (namespace: string, resource: string): DynamicObject =>
  object("APIServiceExport", { namespace, name: `${resource}.example.org` });
const grant = (namespace: string, resource: string, user: string, groups: readonly string[]): DynamicObject =>
  object(
    "Grant",
    { namespace, name: `${user}-${resource}` },
    {
      spec: { api: { group: "example.org", resource }, identity: { user, groups } },
    },
  );
/** Rights as `<user or group> <template>`. */
function losses(
  some: Partial<BoundApis>,
  rights: readonly string[] = [],
): readonly {
  readonly tenant: string;
  readonly apis: readonly string[];
  readonly people: readonly string[];
}[] {
  return lossesOf({
    exports: [],
    templates: [template("databases", "databases"), template("queues-offer", "queues")],
    namespaces: [],
    bindings: [],
    grants: [],
    rules: everyone,
    mayBind: ({ user, groups }, { name }) =>
      [user, ...groups].some((one) => rights.includes(`${one} ${name}`)),
    ...some,
  });
}

test("an app cluster is named with the APIs that neither founder nor members may bind", () => {
  const members = JSON.stringify([{ issuer, subject: "bob", since: "" }]);
  const namespaces = [tenant("cluster-a", "ann", { [membersAnnotation]: members })];
  const exports = [
    bound("cluster-a", "queues"),
    bound("cluster-a", "databases"),
    bound("cluster-b", "queues"),
  ];
  const bindings = [
    object("ClusterBinding", {
      namespace: "cluster-a",
      name: "cluster",
      annotations: { [boundByAnnotation]: "Ann" },
    }),
  ];
  const both = ["databases.example.org", "queues.example.org"];
  assert.deepEqual(losses({ namespaces, exports, bindings }), [
    { tenant: "cluster-a (Ann)", apis: both, people: ["oidc:ann", "oidc:bob"] },
  ]);
  assert.deepEqual(losses({ namespaces, exports }, ["oidc:bob queues-offer"])[0]?.apis, [
    "databases.example.org",
  ]);
  assert.deepEqual(losses({ namespaces, exports }, ["oidc:bob queues-offer", "oidc:ann databases"]), []);
});

test("a Grant counts with its groups, and in place of what annotations say", () => {
  const namespaces = [tenant("cluster-a", "ann")];
  const exports = [bound("cluster-a", "databases")];
  const grants = [grant("cluster-a", "databases", "oidc:eve", ["oidc:team-b"])];
  assert.deepEqual(losses({ namespaces, exports, grants }, ["oidc:team-b databases"]), []);
  assert.deepEqual(losses({ namespaces, exports, grants }, ["oidc:ann databases"])[0]?.people, ["oidc:eve"]);
  const others = [
    grant("cluster-a", "queues", "oidc:eve", []),
    grant("cluster-b", "databases", "oidc:eve", []),
  ];
  assert.deepEqual(losses({ namespaces, exports, grants: others }, ["oidc:ann databases"]), []);
});

test("an operator's namespace and an API without a template lose nothing", () => {
  const operators = [tenant("cluster-a", "ann", { [appClusterBindingAnnotation]: "x/y" })];
  const exports = [bound("cluster-a", "databases")];
  assert.deepEqual(losses({ namespaces: operators, exports }), []);
  assert.deepEqual(losses({ namespaces: [object("Namespace", { name: "cluster-a" })], exports }), []);
  assert.deepEqual(losses({ namespaces: [tenant("cluster-a", "ann")], exports, templates: [] }), []);
});

test("people are known by their subjects of the backend's issuer, and no name belongs to Kubernetes", () => {
  const exports = [bound("cluster-a", "databases")];
  const people = (one: DynamicObject, rules: Partial<PeopleRules> = {}): unknown =>
    losses({ namespaces: [one], exports, rules: { ...everyone, ...rules } })[0]?.people;
  assert.deepEqual(people(tenant("cluster-a", "auth0|ann#1")), ["oidc:auth0|ann#1"]);
  assert.deepEqual(people(tenant("cluster-a", "ann"), { usernamePrefix: "corp:" }), ["corp:ann"]);
  assert.deepEqual(people(tenant("cluster-a", "ann"), { usernameClaim: "email" }), []);
  assert.deepEqual(people(tenant("cluster-a", "ann", { [issuerAnnotation]: "https://other" })), []);
  const foreign = tenant("cluster-a", "ann", { [issuerAnnotation]: "https://other" });
  assert.deepEqual(people(foreign, { issuer: undefined }), ["oidc:ann"]);
  assert.deepEqual(people(tenant("cluster-a", "system:admin"), { usernamePrefix: "" }), []);
  for (const members of ["{", "7", '[7, null, {"subject": 7}]'])
    assert.deepEqual(people(tenant("cluster-a", "ann", { [membersAnnotation]: members })), ["oidc:ann"]);
});

const program = (args: readonly string[], image = "registry.example/klutch/backend:v1.6.0"): Program => ({
  part: "backend",
  key: "klutch-backend/klutch-backend",
  image,
  version: "v1.6.0",
  wanted: 2,
  available: 2,
  args,
});

test("the flags of the backend's Deployment decide by which names people are known", () => {
  const none = { ...everyone, authorization: "default", issuer: undefined };
  assert.deepEqual(peopleRulesOf([]), none);
  assert.deepEqual(peopleRulesOf([program(["--v=2", "--oidc-issuer-url", issuer])]), { ...none, issuer });
  assert.deepEqual(
    peopleRulesOf([
      program(["--bind-authorization=rbac", "--oidc-username-claim=email", "--oidc-username-prefix=-"]),
    ]),
    { authorization: "rbac", usernameClaim: "email", usernamePrefix: "", issuer: undefined },
  );
  const twice = program(["--bind-authorization=rbac", "--bind-authorization=everyone"]);
  assert.equal(peopleRulesOf([twice]).authorization, "everyone");
  const go = program(["--oidc-username-prefix=x"], "registry.example/example-backend:v1.5.0");
  assert.deepEqual(peopleRulesOf([go]), none);
});

test("many app clusters are fifty lines and a number, and a control plane without any says nothing", async () => {
  const answers: Readonly<Record<string, readonly DynamicObject[]>> = {
    apiserviceexports: Array.from({ length: 60 }, (_, index) => bound(`cluster-${index}`, "databases")),
    apiserviceexporttemplates: [template("databases", "databases")],
    namespaces: Array.from({ length: 60 }, (_, index) => tenant(`cluster-${index}`, "ann")),
  };
  const reader = (objects: typeof answers): Parameters<typeof lookAtWhoMayBind>[0] => ({
    list: async ({ plural }) => objects[plural] ?? [],
    find: async () => undefined,
    get: async () => undefined,
    unread: [],
  });
  const { notes, against } = await lookAtWhoMayBind(reader(answers), []);
  assert.equal(notes.length, 52);
  assert.match(
    notes[0] ?? "",
    /^RBAC decides who may bind unless --bind-authorization=everyone is set, and no one who is known for 60 app clusters may/,
  );
  assert.equal(
    notes[1],
    "Not allowed to bind: app cluster cluster-0: databases.example.org; people: oidc:ann.",
  );
  assert.equal(notes.at(-1), "Not allowed to bind: 10 more app clusters.");
  assert.deepEqual(against, []);
  const open = await lookAtWhoMayBind(reader(answers), [program(["--bind-authorization=everyone"])]);
  assert.match(
    open.notes[0] ?? "",
    /^With --bind-authorization=rbac, no one who is known for 60 app clusters could/,
  );
  const decided = await lookAtWhoMayBind(reader(answers), [program(["--bind-authorization=rbac"])]);
  assert.match(decided.notes[0] ?? "", /^No one who is known for 60 app clusters may bind/);
  assert.deepEqual((await lookAtWhoMayBind(reader({}), [])).notes, []);
});

test("a role that names a template which does not exist is named with the nearest one, also before anything is bound", async () => {
  const role = object("Role", { namespace: "shop", name: "own" }, { rules: [rule(["bind"], ["databases"])] });
  const answers: Readonly<Record<string, readonly DynamicObject[]>> = {
    apiserviceexporttemplates: [template("databases", "databases"), template("queues", "queues")],
    clusterroles: [
      clusterRole("good", rule(["bind"], ["databases"])),
      clusterRole("all", rule(["bind"])),
      clusterRole("reads", rule(["get"], ["nothing"])),
      clusterRole("typo", rule(["bind"], ["databasse", "queues", "databasse"])),
      clusterRole("lies", rule(["bind"], ["\u001b[2Jx\ny"])),
    ],
    roles: [role],
  };
  const reader = {
    list: async ({ plural }: { readonly plural: string }) => answers[plural] ?? [],
    find: async () => undefined,
    get: async () => undefined,
    unread: [],
  };
  const { notes, against } = await lookAtWhoMayBind(reader, []);
  assert.equal(
    notes[0],
    "ClusterRole typo gives the right bind on APIServiceExportTemplates that do not exist: databasse. Nearest: databases.",
  );
  assert.match(notes[1] ?? "", /^ClusterRole lies .* that do not exist: [^\p{Cc}]*\.$/u);
  assert.match(notes[2] ?? "", /^Role shop\/own .*: databases\./);
  assert.deepEqual([notes.length, against], [3, []]);
});
