import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type CheckCommand, readCheckCommand } from "./config.ts";

const url = ["--url", "https://broker.example"];

function read(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  files: Readonly<Record<string, string>> = {},
): CheckCommand {
  return readCheckCommand(args, env, (path) => {
    const text = files[path];
    if (text === undefined) throw new Error("no such file");
    return text;
  });
}

function faultsOf(...input: Parameters<typeof read>): readonly string[] {
  const command = read(...input);
  return command.kind === "faults" ? command.faults : [];
}

test("the least that is needed is a URL", () => {
  const command = read(url);
  assert.ok(command.kind === "check");
  assert.equal(command.options.auth, undefined);
  assert.equal(command.options.timeoutMs, 60_000);
  assert.equal(command.options.cleanupMs, 900_000);
  assert.deepEqual([command.json, command.verbose], [false, false]);
});

test("each kind of credentials takes its secret from the environment", () => {
  const authOf = (...input: Parameters<typeof read>): unknown => {
    const command = read(...input);
    return command.kind === "check" ? command.options.auth : command;
  };
  assert.deepEqual(authOf([...url, "--username", "u"], { OSB_PASSWORD: "p" }), {
    kind: "basic",
    username: "u",
    password: "p",
  });
  assert.deepEqual(authOf(url, { OSB_TOKEN: "t" }), { kind: "bearer", token: "t" });
  const oauth = ["--token-url", "https://login.example/token", "--client-id", "c", "--scope", "s"];
  assert.deepEqual(authOf([...url, ...oauth], { OSB_CLIENT_SECRET: "x" }), {
    kind: "oauth",
    tokenUrl: "https://login.example/token",
    clientId: "c",
    clientSecret: "x",
    scope: "s",
  });
});

test("certificates come from files", () => {
  const args = [...url, "--ca-file", "ca", "--cert-file", "cert", "--key-file", "key", "--server-name", "b"];
  const command = read(args, {}, { ca: "CA", cert: "CERT", key: "KEY" });
  assert.ok(command.kind === "check");
  assert.deepEqual(command.options.tls, {
    ca: "CA",
    cert: "CERT",
    key: "KEY",
    serverName: "b",
    insecureSkipVerify: false,
  });
});

const faults: readonly (readonly [readonly string[], Readonly<Record<string, string>>, readonly string[]])[] =
  [
    [[], {}, ["--url is required: URL of the broker, without /v2"]],
    [["--url", "broker"], {}, ["--url: must be an http or https URL"]],
    [
      ["--url", "https://u:p@b"],
      {},
      ["--url: must not have credentials; give them as --username and OSB_PASSWORD"],
    ],
    [["--url", "https://b/?x=1"], {}, ["--url: must not have a query or a fragment"]],
    [[...url, "--username", "u"], {}, ["--username needs the environment variable OSB_PASSWORD"]],
    [
      [...url, "--username", "u"],
      { OSB_PASSWORD: "p", OSB_TOKEN: "t" },
      ["--username, --token-url and OSB_TOKEN exclude each other"],
    ],
    [
      [...url, "--client-id", "c"],
      { OSB_CLIENT_SECRET: "s" },
      ["--token-url and --client-id belong together"],
    ],
    [[...url, "--ca-file", "none"], {}, ["--ca-file: the file cannot be read"]],
    [[...url, "--timeout", "0"], {}, ['--timeout: "0" must be a whole number from 1 to 86400']],
    [[...url, "--parameters", "[]"], {}, ["--parameters: must be a JSON object"]],
    [
      ["--timeout", "x", "--bind-parameters", "{", "--cert-file", "c"],
      {},
      [
        "--url is required: URL of the broker, without /v2",
        "--bind-parameters: must be a JSON object",
        '--timeout: "x" must be a whole number from 1 to 86400',
        "--cert-file: the file cannot be read",
        "--cert-file and --key-file belong together",
      ],
    ],
    [
      [...url, "--password", "hunter2"],
      {},
      ["--password is not a flag, because flags can be seen by every process; set OSB_PASSWORD"],
    ],
    [
      [...url, "--token=hunter2"],
      {},
      ["--token is not a flag, because flags can be seen by every process; set OSB_TOKEN"],
    ],
  ];
for (const [args, env, expected] of faults) {
  test(`all faults at once, without values: ${args.join(" ") || "nothing"}`, () => {
    assert.deepEqual(faultsOf(args, env), expected);
  });
}

test("any input gives a command or faults, and no secret in them", () => {
  const word = fc.oneof(
    fc.constantFrom("--url", "--username", "--token-url", "--client-id", "--parameters", "--json", "--help"),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 8 }), (args) => {
      const command = read(args, { OSB_PASSWORD: "hunter2-secret" });
      if (command.kind === "faults") {
        assert.ok(command.faults.length > 0);
        assert.ok(!command.faults.join().includes("hunter2-secret"));
      }
    }),
  );
});
