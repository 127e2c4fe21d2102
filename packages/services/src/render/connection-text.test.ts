import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { services } from "../list.ts";
import { connectionDetails } from "./connection.ts";
import { connectionText, readConnectionText } from "./connection-text.ts";

function problemOf(text: string): string {
  const read = readConnectionText(text);
  return "problem" in read ? read.problem : "none";
}

for (const { title, connection } of services())
  test(`the connection of ${title} is read as it was written`, () => {
    assert.deepEqual(readConnectionText(connectionText(connection)), { connection });
  });

test("an invalid connection is reported with field, value and expected value", () => {
  const source = { label: "SQL", from: "host", form: "host", port: "port" };
  for (const [value, words] of [
    ["{", /^is "\{", expected a list in JSON$/],
    [{}, /^connection: is \{\}, expected an array$/],
    [
      [{ ...source, form: "hst" }],
      /^connection\[0\]\.form: is "hst", expected one of "host", "url", "address"$/,
    ],
    [
      [{ ...source, port: undefined }],
      /^connection\[0\]\.port: is missing, expected the key that has the port$/,
    ],
    [
      [{ ...source, form: "url" }],
      /^connection\[0\]\.port: is "port", expected no port here; it is for the form host$/,
    ],
    [[{ ...source, more: 1 }], /^connection\[0\]\.more: /],
    [[{ ...source, label: "a\nb" }], /^connection\[0\]\.label: is "a\\nb", expected a string that matches/],
    [Array.from({ length: 21 }, () => source), /^connection: .*20/],
  ] as const)
    assert.match(problemOf(typeof value === "string" ? value : JSON.stringify(value)), words);
  assert.equal(problemOf(" ".repeat(16_385)), "has 16385 characters; at most 16384 are read");
});

test("a key that holds a secret is no place where a service is reached", () => {
  const from = (key: string): string =>
    problemOf(JSON.stringify([{ label: "x", from: key, form: "address" }]));
  for (const key of [
    "password",
    "PASSWORD",
    "db.password",
    "admin_password",
    "rootPassword",
    "token",
    "api_key",
    "secretKey",
    "credentials",
  ])
    assert.match(from(key), /^connection\[0\]\.from: is ".*", expected a key that holds no secret/, key);
  for (const key of ["host", "hosts", "uri", "broker_urls", "monkey", "keyspace.hosts", "compass"])
    assert.equal(from(key), "none", key);
  const port = JSON.stringify([{ label: "x", from: "host", form: "host", port: "password" }]);
  assert.match(problemOf(port), /^connection\[0\]\.port: is "password", expected a key that holds no secret/);
});

test("whatever an annotation says, it is read or refused, and no secret of the credentials is shown", () => {
  const word = fc.constantFrom("host", "password", "port", "url", "address", "uri", "__proto__", "toString");
  const source = fc.record(
    { label: word, from: word, form: word, port: word, more: word },
    { requiredKeys: ["label", "from", "form"] },
  );
  const anything = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.array(source, { maxLength: 4 }));
  const credentials = { host: "h", port: "5432", password: "s3cret", uri: "pg://u:s3cret@h:5432/db" };
  fc.assert(
    fc.property(
      fc.oneof(
        anything.map((value) => JSON.stringify(value)),
        fc.string(),
      ),
      (text) => {
        const read = readConnectionText(text);
        if ("problem" in read) return assert.notEqual(read.problem, "");
        return assert.doesNotMatch(JSON.stringify(connectionDetails(read.connection, credentials)), /s3cret/);
      },
    ),
    { numRuns: 5_000 },
  );
});
