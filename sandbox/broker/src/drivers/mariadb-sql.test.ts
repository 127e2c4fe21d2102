import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { grantPattern, literal, makeLogin, name, passwordHash } from "./mariadb-sql.ts";

const spec = { connectionLimit: 10, memoryMiB: 256, diskMiB: 512, tlsOnly: true, parameters: {} };

test("nothing escapes from a text or a name", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      assert.match(literal(text), /^'(?:[^'\\]|''|\\\\)*'$/s);
      assert.match(name(text), /^`(?:[^`]|``)*`$/s);
    }),
  );
});

test("a database's name in a grant means this database only", () => {
  assert.equal(grantPattern("stock_a%"), String.raw`stock\_a\%`);
});

test("the server is told a password's hash, never the password", () => {
  // The server's function PASSWORD() returns this hash.
  assert.equal(passwordHash("password"), "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19");
  const said = makeLogin(
    { username: "u1", password: "hunter2" },
    { database: "d", spec, isFull: false },
  ).join(";");
  assert.ok(said.includes(passwordHash("hunter2")) && !said.includes("hunter2"));
});

test("a login is open only when its rights are right, and with a full disk it has no right to write", () => {
  const statements = makeLogin({ username: "u1", password: "p" }, { database: "d", spec, isFull: true });
  assert.match(statements[0] ?? "", /ACCOUNT LOCK$/);
  assert.match(statements.at(-1) ?? "", /ACCOUNT UNLOCK$/);
  const grant = statements.find((each) => each.startsWith("GRANT")) ?? "";
  assert.match(grant, /^GRANT SELECT, .*DELETE, .* ON `d`\.\* TO 'u1'@'%'$/);
  assert.doesNotMatch(grant, /INSERT|UPDATE|CREATE|ALTER/);
  assert.match(statements.join(), /REQUIRE SSL WITH MAX_USER_CONNECTIONS 10/);
});
