/** Names and groups from a token, also from one that means harm. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { clientUserOf, defaultUserRules, namesBy, userOf, type UserRules } from "./user-claims.ts";

const rules = (some: Partial<UserRules>): UserRules => ({ ...defaultUserRules, ...some });

test("name and groups carry their prefixes, and a group counts once", () => {
  assert.deepEqual(userOf({ sub: "ann", groups: ["team-a", "team-b", "team-a"] }, defaultUserRules), {
    user: "oidc:ann",
    groups: ["oidc:team-a", "oidc:team-b"],
  });
  assert.deepEqual(userOf({ sub: "ann", groups: "team-a" }, defaultUserRules).groups, ["oidc:team-a"]);
  assert.deepEqual(userOf({ sub: "ann" }, defaultUserRules).groups, []);
  assert.deepEqual(userOf({ sub: "ann", groups: null }, defaultUserRules).groups, []);
});

test("groups may lie deeper, and a claim whose name has dots comes first", () => {
  const roles = { sub: "ann", realm_access: { roles: ["admin"] } };
  assert.deepEqual(userOf(roles, rules({ groupsClaim: "realm_access.roles" })).groups, ["oidc:admin"]);
  const named = { ...roles, "realm_access.roles": ["own"] };
  assert.deepEqual(userOf(named, rules({ groupsClaim: "realm_access.roles" })).groups, ["oidc:own"]);
  assert.deepEqual(userOf({ sub: "ann" }, rules({ groupsClaim: "__proto__.polluted" })).groups, []);
  assert.deepEqual(userOf({ sub: "ann" }, rules({ groupsClaim: "constructor" })).groups, []);
});

test("an address is a name only if the token calls it verified", () => {
  const mail = rules({ usernameClaim: "email", usernamePrefix: "" });
  assert.equal(userOf({ email: "ann@example.org", email_verified: true }, mail).user, "ann@example.org");
  for (const email_verified of [false, "true", 1, undefined])
    assert.throws(
      () => userOf({ email: "ann@example.org", email_verified }, mail),
      /"email" claim is not verified/,
    );
});

test("a groups claim of another shape refuses the login, and names the claim and not its value", () => {
  const bomb = JSON.parse(`${"[".repeat(500)}"secret"${"]".repeat(500)}`) as unknown;
  for (const [groups, words] of [
    [7, /"groups" claim is a number, not a text or a list of texts/],
    [{ secret: true }, /is an object/],
    [["a", 7], /is a list with a number in it/],
    [["a", ["secret"]], /is a list with a list in it/],
    [bomb, /is a list with a list in it/],
    [Array.from({ length: 10_001 }, String), /a list of 10001 groups; 10000 are allowed/],
    ["x".repeat(257), /a name of 257 characters/],
  ] as const)
    assert.throws(
      () => userOf({ sub: "ann", groups }, defaultUserRules),
      (error: Error) => words.test(error.message) && !error.message.includes("secret"),
    );
});

test("no token names what Kubernetes itself trusts", () => {
  assert.deepEqual(userOf({ sub: "ann", groups: ["system:masters"] }, defaultUserRules).groups, [
    "oidc:system:masters",
  ]);
  const bare = rules({ groupsPrefix: "", usernamePrefix: "" });
  assert.throws(
    () => userOf({ sub: "ann", groups: ["system:masters"] }, bare),
    /belongs to Kubernetes; set a prefix/,
  );
  assert.throws(() => userOf({ sub: "system:admin" }, bare), /belongs to Kubernetes/);
  const halved = rules({ groupsPrefix: "system:" });
  assert.throws(() => userOf({ sub: "ann", groups: ["masters"] }, halved), /belongs to Kubernetes/);
});

test("a missing or empty name is refused", () => {
  assert.throws(() => userOf({ groups: [] }, defaultUserRules), /"sub" claim is missing/);
  assert.throws(() => userOf({ sub: "" }, defaultUserRules), /"sub" claim is empty/);
  assert.throws(
    () => userOf({ sub: "a", uid: 7 }, rules({ usernameClaim: "uid" })),
    /"uid" claim is a number/,
  );
});

test("a program's name is that of its client, and no person can have it", () => {
  const claims = { sub: "0e9a2c1c", azp: "deploy", realm_access: { roles: ["ci"] } };
  const byRoles = rules({ usernameClaim: "email", groupsClaim: "realm_access.roles" });
  assert.deepEqual(clientUserOf(claims, "deploy", byRoles), {
    user: "oidc:client:deploy",
    groups: ["oidc:ci"],
  });
  for (const usernameClaim of ["sub", "preferred_username"])
    assert.throws(
      () => userOf({ [usernameClaim]: "client:deploy" }, rules({ usernameClaim })),
      /claim is a name that begins with client:, which belongs to programs/,
    );
});
test("where names are for records only, a token that breaks the rules has none, and its login goes on", () => {
  const claims = { sub: "ann", groups: [{ name: "team-a" }] };
  const named = (some: UserRules): object => namesBy(some, (one) => userOf(claims, one));
  assert.deepEqual(named(rules({ isForRecords: true })), {});
  assert.throws(() => named(defaultUserRules), /"groups" claim is a list with an object in it/);
  assert.deepEqual(
    namesBy(rules({ isForRecords: true }), (one) => userOf({ sub: "ann" }, one)),
    { user: "oidc:ann", groups: [] },
  );
  assert.deepEqual(
    namesBy(undefined, () => assert.fail("nothing to read")),
    {},
  );
});

test("no token names a person or group of Klutch's own, whatever the prefix", () => {
  for (const claims of [{ sub: "klutch:app-cluster:prod" }, { sub: "ann", groups: ["klutch:app-clusters"] }])
    assert.throws(
      () => userOf(claims, rules({ usernamePrefix: "", groupsPrefix: "" })),
      /begins with klutch:, which belongs to app clusters; set a prefix/,
    );
});
