import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type RuleId, ruleIds } from "./rules.ts";
import type { CheckResult } from "./run.ts";
import { exitCodeOf, jsonOf, tableOf } from "./table.ts";
import { breaks } from "./testing/breaks.ts";
import { runChecks, startFakeServer } from "./testing/fake-server.ts";
import { credentials } from "./testing/memory-broker.ts";

function failed({ findings }: CheckResult): readonly RuleId[] {
  return findings.filter(({ result }) => result === "failed").map(({ id }) => id);
}

function tested({ findings }: CheckResult): readonly RuleId[] {
  return findings.filter(({ result }) => result !== "skipped").map(({ id }) => id);
}

function everything(result: CheckResult): string {
  return [...tableOf(result, { url: "u", verbose: true }), jsonOf(result, { url: "u" })].join("\n");
}

test("a broker that keeps every rule passes, and each rule is tested by one that takes time or one that does not", async (t) => {
  const seen = new Set<RuleId>();
  for (const asynchronous of [true, false]) {
    const { url, memory } = await startFakeServer(t, { asynchronous });
    const result = await runChecks(url);
    assert.deepEqual(failed(result), []);
    assert.equal(result.stoppedBy, undefined);
    assert.equal(exitCodeOf(result, false), 0);
    assert.equal(memory.things.size, 0);
    for (const id of tested(result)) seen.add(id);
  }
  assert.deepEqual(
    ruleIds.filter((id) => !seen.has(id)),
    [],
  );
});

for (const id of ruleIds) {
  test(`a broker that breaks ${id} is caught, and keeps nothing`, async (t) => {
    const { asynchronous, make } = breaks[id];
    const { url, memory } = await startFakeServer(t, { asynchronous, alter: make() });
    const result = await runChecks(url);
    const finding = result.findings.find((each) => each.id === id);
    assert.equal(finding?.result, "failed", `${finding?.result}: ${finding?.why}; ${result.stoppedBy}`);
    assert.ok(finding.evidence !== undefined && finding.why !== "");
    const isMust = result.findings.some(({ level, result: got }) => level === "MUST" && got === "failed");
    assert.equal(exitCodeOf(result, false) === 1, isMust);
    assert.equal(memory.things.size, 0, everything(result));
    assert.deepEqual(result.leftovers, []);
  });
}

test("no report has a password, a credential of a binding or a page of a proxy", async (t) => {
  for (const asynchronous of [true, false]) {
    const { url } = await startFakeServer(t, {
      asynchronous,
      alter: (answer, { verb, headers }) =>
        verb === "catalog"
          ? answer
          : { ...answer, body: { ...answer.body, echo: headers["authorization"], pw: credentials.password } },
    });
    const text = everything(await runChecks(url));
    assert.doesNotMatch(text, /s3cret-password|hidden-credential/);
    const basic = Buffer.from(`${credentials.username}:${credentials.password}`).toString("base64");
    assert.ok(!text.includes(basic));
    assert.match(text, /"credentials":"\[redacted\]"|\\"credentials\\":\\"\[redacted\]/);
  }
});

test("an interruption at any request leaves nothing at the broker", async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 90 }), fc.boolean(), async (at, asynchronous) => {
      const stop = new AbortController();
      const { url, memory } = await startFakeServer(t, {
        asynchronous,
        seize: (_response, count) => {
          if (count === at) stop.abort(new Error("stopped"));
          return false;
        },
      });
      const result = await runChecks(url, { signal: stop.signal });
      assert.equal(memory.things.size, 0);
      assert.deepEqual(result.leftovers, []);
      if (result.stoppedBy === "interrupted") assert.notEqual(exitCodeOf(result, true), 0);
    }),
    { numRuns: 40 },
  );
});

test("answers that break off or never come leave nothing once the broker answers again", async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.integer({ min: 4, max: 80 }), { minLength: 1, maxLength: 6 }),
      fc.constantFrom("cut", "half", "page", "late"),
      fc.boolean(),
      async (at, how, asynchronous) => {
        const { url, memory } = await startFakeServer(t, {
          asynchronous,
          seize: (response, count, request) => {
            if (!at.includes(count)) return false;
            if (how === "cut") request.socket.destroy();
            else if (how === "half") response.writeHead(200, { "content-length": "99" }).write("{");
            else if (how === "page") response.writeHead(502).end("<html>secret page</html>");
            return true;
          },
        });
        const result = await runChecks(url, { timeoutMs: 200 });
        assert.equal(memory.things.size, 0);
        assert.deepEqual(result.leftovers, []);
        assert.doesNotMatch(everything(result), /secret page/);
      },
    ),
    { numRuns: 25 },
  );
});

test("the run ends with a report and names possible leftovers for any answer of a broker", async (t) => {
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom<unknown>({}, { state: "failed" }, { services: [null] }),
  );
  const status = fc.constantFrom(200, 201, 202, 400, 404, 409, 410, 412, 422, 500);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(status, value), { minLength: 1, maxLength: 20 }), async (answers) => {
      const { url } = await startFakeServer(t, {
        seize: (response, count) => {
          if (count < 4) return false;
          const [code, body] = answers[count % answers.length] ?? [500, {}];
          response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
          return true;
        },
      });
      const result = await runChecks(url, { cleanupMs: 20_000 });
      assert.equal(result.findings.length, ruleIds.length);
      assert.ok(everything(result).length > 0);
      if (result.leftovers.length > 0) assert.equal(exitCodeOf(result, false), 1);
    }),
    { numRuns: 25 },
  );
});

test("an instance that cannot be deleted is named, and is a failure", async (t) => {
  const { url } = await startFakeServer(t, {
    asynchronous: false,
    alter: (answer, { verb }) =>
      verb === "deprovision" ? { ...answer, status: 500, body: { description: "out of order" } } : answer,
  });
  const result = await runChecks(url, { cleanupMs: 10_000 });
  assert.ok(result.leftovers.length > 0);
  assert.equal(exitCodeOf(result, false), 1);
  const text = tableOf(result, { url, verbose: false }).join("\n");
  assert.match(text, /Still at the broker; delete it by hand:\n.* instance 05bc4ec0-.*out of order/);
});

test("a second interruption ends the deleting, too, and names the leftovers", async (t) => {
  const stop = new AbortController();
  const hurry = new AbortController();
  const { url } = await startFakeServer(t, {
    asynchronous: false,
    alter: (answer, { verb }) => {
      if (verb === "bind") {
        stop.abort(new Error("once"));
        hurry.abort(new Error("twice"));
      }
      return answer;
    },
  });
  const result = await runChecks(url, { signal: stop.signal, hurry: hurry.signal });
  assert.ok(result.leftovers.length > 0);
  assert.equal(result.stoppedBy, "interrupted");
  assert.equal(exitCodeOf(result, true), 1);
});

test("a broker of an older version is spoken to in its own, and is not blamed for what came later", async (t) => {
  const { url } = await startFakeServer(t, {
    alter: (answer, { headers }) =>
      headers["x-broker-api-version"] === undefined || headers["x-broker-api-version"] === "2.14"
        ? { ...answer, headers: { "content-type": "application/json" } }
        : { ...answer, status: 412, body: { description: "speak 2.14" } },
  });
  const result = await runChecks(url);
  assert.equal(result.version, "2.14");
  assert.deepEqual(failed(result), []);
});

test("a broker that is not there is no failure of a rule, but of the run", async () => {
  const result = await runChecks("http://127.0.0.1:1");
  assert.deepEqual(failed(result), []);
  assert.equal(exitCodeOf(result, false), 2);
  assert.match(tableOf(result, { url: "u", verbose: false }).join("\n"), /there is no catalog/);
});

test("a broker that is asked too fast is waited for, and not blamed", async (t) => {
  for (const asynchronous of [true, false]) {
    const { url, memory } = await startFakeServer(t, {
      asynchronous,
      limit: (count) => count % 4 === 0,
    });
    const result = await runChecks(url);
    assert.deepEqual(failed(result), []);
    assert.equal(result.stoppedBy, undefined);
    assert.equal(memory.things.size, 0);
  }
});

test("an unknown plan is reported with the plans of the catalog", async (t) => {
  const { url } = await startFakeServer(t);
  const result = await runChecks(url, { choice: { plan: "large" } });
  assert.equal(result.stoppedBy, 'the catalog has no plan "large"; it has: plan-0, plan-1');
  assert.equal(exitCodeOf(result, false), 2);
});

test("the text of a broker cannot write over the terminal", async (t) => {
  const { url } = await startFakeServer(t, {
    alter: (answer) => ({
      ...answer,
      headers: { ...answer.headers, "content-type": "text/\u009b2Jhtml" },
      body: { ...answer.body, description: "\u001b[2J\u009b" },
    }),
  });
  const text = tableOf(await runChecks(url), { url, verbose: true }).join("\n");
  assert.doesNotMatch(text.replaceAll("\n", ""), /\p{Cc}/u);
});
