import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  address,
  duration,
  type Flag,
  type FlagTable,
  ignored,
  oneOf,
  optional,
  optionalText,
  port,
  text,
  toggle,
  wholeNumber,
} from "./flag.ts";
import { helpText } from "./help.ts";
import { ConfigError, readFlags, requireFlags } from "./read-flags.ts";

const read = (flags: FlagTable, args: readonly string[], env: Record<string, string> = {}): unknown =>
  requireFlags(flags, { args, env });
const faultsOf = (flags: FlagTable, args: readonly string[], env = {}): readonly string[] =>
  readFlags(flags, { args, env }).faults;

const flags = {
  name: text({ help: "A name", default: "anna" }),
  secret: text({ help: "A secret", env: "SECRET", secret: true }),
  probe: port({ help: "A port", default: "8080" }),
  listen: address({ help: "An address", default: ":9443" }),
  poll: duration({ help: "A time", default: "1m" }),
  level: oneOf(["debug", "info"], { help: "A level", default: "info" }),
  debug: toggle({ short: "d", help: "More" }),
  v: wholeNumber({ short: "v", help: "Verbosity", default: "0" }, { least: 0 }),
};

test("defaults, flags and environment are read to typed values; a flag wins over the environment", () => {
  const env = { SECRET: "from env" };
  assert.deepEqual(read(flags, [], env), {
    name: "anna",
    secret: "from env",
    probe: 8080,
    listen: { host: undefined, port: 9443 },
    poll: 60_000,
    level: "info",
    debug: false,
    v: 0,
  });
  const args = ["--name=bob", "--secret", "typed", "--listen=127.0.0.1:0", "--level=DEBUG", "-d", "-v=4"];
  assert.deepEqual(read(flags, args, env), {
    name: "bob",
    secret: "typed",
    probe: 8080,
    listen: { host: "127.0.0.1", port: 0 },
    poll: 60_000,
    level: "debug",
    debug: true,
    v: 4,
  });
});

test("every fault is reported at once, begins with its flag and says what would be right", () => {
  const args = [
    "--probe=http",
    "--listen=9443",
    "--poll=soon",
    "--level=loud",
    "--name=",
    "--debug=maybe",
    "-v=-1",
  ];
  assert.deepEqual(faultsOf(flags, args), [
    "--name: must not be empty",
    "--secret is required (or SECRET in the environment): A secret",
    '--probe: "http" must be a port number from 0 to 65535',
    '--listen: "9443" must be host:port, such as 127.0.0.1:8080 or :8080',
    '--poll: "soon" must be a duration such as 90s, 1m or 24h',
    '--level: "loud" must be one of debug, info',
    '--debug: "maybe" must be true or false',
    '--v: "-1" must be a whole number from 0 to 999999999',
  ]);
});

test("an unknown flag is named, with the flag that was probably meant", () => {
  const env = { SECRET: "s" };
  assert.deepEqual(faultsOf(flags, ["--nonsense", "--prob=1", "word", "-x"], env), [
    "--nonsense is not a flag; --help lists those that are",
    "--prob is not a flag; --probe is",
    '"word" is not a flag; --help lists those that are',
    "-x is not a flag; --help lists those that are",
  ]);
});

test("a flag without its value does not take the next flag for one", () => {
  const env = { SECRET: "s" };
  assert.deepEqual(faultsOf(flags, ["--name", "--debug"], env).slice(0, 1), [
    "--name: needs a value, such as --name=<text>",
  ]);
  assert.deepEqual(faultsOf(flags, ["--probe"], env), ["--probe: needs a value, such as --probe=<port>"]);
});

test("a secret's value stands in no message", () => {
  const key: Flag<string> = {
    ...flags.secret,
    read: () => {
      throw new TypeError("never called");
    },
  };
  const strict = { key: { ...key, ...wholeNumber({ help: "", default: "1", secret: true }, { least: 0 }) } };
  assert.deepEqual(faultsOf(strict, ["--key=hunter2"]), [
    "--key: must be a whole number from 0 to 999999999",
  ]);
});

test("of a flag that is given twice the last counts, unless it may be given several times", () => {
  const list: Flag<readonly string[]> = { help: "", value: "text", repeats: true, read: (texts) => texts };
  const table = { list, name: text({ help: "", default: "" }) };
  assert.deepEqual(read(table, ["--list=a", "--name=x", "--list=b", "--name=y"]), {
    list: ["a", "b"],
    name: "y",
  });
  assert.deepEqual(read(table, ["--name=z"]), { list: [], name: "z" });
});

test("an empty flag leaves the word to the environment, and a variable without a flag cannot be typed", () => {
  const table = {
    key: optionalText({ help: "", env: "KEY" }),
    pod: optionalText({ help: "", env: "POD", envOnly: true }),
  };
  assert.deepEqual(read(table, ["--key="], { KEY: "k", POD: "p" }), { key: "k", pod: "p" });
  assert.deepEqual(read(table, []), { key: undefined, pod: undefined });
  assert.match(faultsOf(table, ["--pod=x"])[0] ?? "", /^--pod is not a flag/);
});

test("optional flags are undefined when they are not given; those of other programs are taken and ignored", () => {
  const table = {
    level: optional(oneOf(["a", "b"], { help: "", default: "a" })),
    vmodule: ignored({ value: "text" }),
  };
  assert.deepEqual(read(table, ["--vmodule=x=1"]), { level: undefined, vmodule: undefined });
  assert.deepEqual(read(table, ["--level=b"]), { level: "b", vmodule: undefined });
  assert.throws(() => read(table, ["--level=c"]), ConfigError);
});

test("no command line makes the reader throw", () => {
  fc.assert(
    fc.property(fc.array(fc.string()), (args) => {
      const { faults } = readFlags(flags, { args, env: {} });
      assert.ok(faults.every((fault) => fault.length > 0));
    }),
  );
});

test("help names each flag with what it takes, its default and its variable", () => {
  const help = helpText({ name: "program", version: "v1", summary: "does it", flags });
  for (const part of [
    "program v1: does it",
    "--probe=<port>",
    "A port (default 8080)",
    "-d, --debug",
    "A secret (required; environment SECRET)",
    "--level=<debug|info>",
    "--version",
  ]) {
    assert.ok(help.includes(part), `${part} is missing in\n${help}`);
  }
});
