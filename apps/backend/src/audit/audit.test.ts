import assert from "node:assert/strict";
import { test } from "node:test";
import { createLogger, createMetrics } from "@klutch/telemetry";
import { UserError } from "../errors.ts";
import { type Audit, createAudit, recordRefusal } from "./audit.ts";

type Line = Readonly<Record<string, unknown>>;

function recording(): {
  readonly audit: Audit;
  readonly lines: Line[];
  readonly text: () => Promise<string>;
} {
  const lines: Line[] = [];
  const metrics = createMetrics();
  const write = (line: string): void => void lines.push(JSON.parse(line) as Line);
  const audit = createAudit({ logger: createLogger({ name: "audit", write }), metrics });
  return { audit, lines, text: () => metrics.text() };
}

const asker = {
  issuer: "https://idp.example",
  subject: "ann",
  user: "oidc:ann",
  clusterName: "prod",
  way: "redirect",
  address: "192.0.2.1",
} as const;

test("a record has the fields of docs/reference/audit.md, and is counted", async () => {
  const { audit, lines, text } = recording();
  const apis = [{ group: "example.org", resource: "databases" }, { resource: "secrets" }];
  audit.record({ decision: "bind", allowed: true, outcome: "Allowed", asker, tenant: "cluster-a", apis });
  const [{ time, ...line } = {}] = lines;
  assert.match(String(time), /^\d{4}-/);
  assert.deepEqual(line, {
    level: "info",
    component: "audit",
    decision: "bind",
    allowed: true,
    reason: "Allowed",
    person: { issuer: "https://idp.example", subject: "ann", user: "oidc:ann" },
    tenant: "cluster-a",
    cluster: "prod",
    apis: ["databases.example.org", "secrets"],
    way: "redirect",
    address: "192.0.2.1",
    msg: "decided",
  });
  assert.match(
    await text(),
    /^klutch_audit_decisions_total\{decision="bind",allowed="true",reason="Allowed"\} 1$/m,
  );
});

test("a session brings nothing into a record but the named fields", () => {
  const { audit, lines } = recording();
  const session = { ...asker, csrf: "canary-1", proof: { id: "canary-2" }, offeredKey: "canary-3" };
  audit.record({ decision: "bind", allowed: true, outcome: "Allowed", asker: session });
  assert.doesNotMatch(JSON.stringify(lines), /canary/);
});

test("texts that people choose stay on one line, are printable and bounded", () => {
  const { audit, lines } = recording();
  const evil = `a\n{"decision":"bind"}\u001b[31m\u202e${"x".repeat(100_000)}`;
  const apis = Array.from({ length: 10_000 }, () => ({ group: evil, resource: evil }));
  audit.record({
    decision: "bind",
    allowed: false,
    outcome: "NotAllowed",
    detail: evil,
    asker: { ...asker, subject: evil, user: evil, issuer: evil, clusterName: evil, address: evil },
    tenant: evil,
    apis,
    permissionClaims: [evil],
  });
  const text = JSON.stringify(lines);
  assert.doesNotMatch(text, /\\n|\\u001b|\u202e/);
  assert.ok(text.length < 40_000, `${text.length}`);
  assert.equal(lines.length, 1);
});

test("a refusal is recorded with its word and goes on; of another error only that there was one", async () => {
  const { audit, lines } = recording();
  const refuse = (error: Error): Promise<unknown> =>
    assert.rejects(
      recordRefusal(audit, { decision: "bind", asker }, () => Promise.reject(error)),
      error,
    );
  await refuse(new UserError(403, "ann may not bind it.", "Ask.", { outcome: "TenantRevoked" }));
  await refuse(new UserError(409, "Another request was faster.", "Try again."));
  await refuse(new Error("request failed: Authorization: Bearer canary"));
  assert.deepEqual(
    lines.map(({ allowed, reason, detail }) => [allowed, reason, detail]),
    [
      [false, "TenantRevoked", "ann may not bind it."],
      [false, "Conflict", "Another request was faster."],
      [false, "Failed", "The backend failed; its log says why."],
    ],
  );
  assert.equal(await recordRefusal(audit, { decision: "bind" }, () => 7), 7);
  assert.equal(lines.length, 3);
});
