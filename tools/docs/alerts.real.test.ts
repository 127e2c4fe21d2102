/** The alerts of docs/monitoring.md, judged by Prometheus' own checker. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { resolveDebian, run } from "@klutch/engines";
import { formatYaml, parseYaml } from "@klutch/kube";
import { recordsAt, textAt, valueAt } from "@klutch/kube-core";
import { catalogue } from "../generate/metrics-page.ts";
import { repositoryRoot } from "../root.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-alerts-"));
after(() => rm(folder, { recursive: true, force: true }));

const page = await readFile(join(repositoryRoot, "docs", "monitoring.md"), "utf8");
const [, block = ""] = /^```yaml\n([^]*?)^```$/m.exec(page) ?? [];
const groups = recordsAt(parseYaml(block), "spec", "groups");
const rules = groups.flatMap((group) => recordsAt(group, "rules"));
const prometheus = await resolveDebian("prometheus");
const promtool = (...args: readonly string[]): Promise<{ readonly stdout: string }> =>
  run(prometheus.path("promtool"), args, { cwd: folder, env: { ...process.env, ...prometheus.env } });

test("Prometheus takes each alert", async () => {
  assert.equal(rules.length, 10);
  await writeFile(join(folder, "rules.yaml"), formatYaml({ groups }));
  const { stdout } = await promtool("check", "rules", "rules.yaml");
  assert.match(stdout, /SUCCESS: 10 rules found/);
});

test("each alert asks for metrics and labels that our programs have, and says what to do in a sentence", () => {
  for (const rule of rules) {
    const [alert = "", expression = ""] = [textAt(rule, "alert"), textAt(rule, "expr")];
    const names = expression.match(/\b(?:klutch|controller_runtime|workqueue|leader_election)_\w+/g) ?? [];
    assert.ok(names.length > 0, alert);
    for (const name of names) {
      const metric = catalogue.find((one) => one.name === name.replace(/_bucket$/, ""));
      assert.ok(metric !== undefined, `${alert}: there is no metric ${name}`);
      const asked = new RegExp(String.raw`\b${name}\{(\w+)=`).exec(expression)?.[1];
      assert.ok(
        asked === undefined || metric.labels.some((own) => own === asked),
        `${alert}: ${name}{${asked}}`,
      );
    }
    assert.match(String(valueAt(rule, "annotations", "summary")), /^.{20,}\.$/, alert);
  }
});

test("alerts are silent while all is well, and one fires when an instance is left at its broker", async () => {
  const series = (name: string, values: string): object => ({ series: name, values });
  const well = [
    series('leader_election_master_status{name="klutch-bind",pod="one"}', "1x60"),
    series('leader_election_master_status{name="klutch-bind",pod="two"}', "0x60"),
    series('klutch_bindings{state="not_ready"}', "0x60"),
    series('klutch_bindings{state="ready"}', "4x60"),
    series('klutch_claims{state="pending",resource="backups"}', "0x60"),
    series("klutch_vanished_instances", "0x30 1x30"),
    series('workqueue_depth{name="bindings"}', "3x60"),
  ];
  const silent = rules.map((rule) => textAt(rule, "alert") ?? "");
  const summary = textAt(
    rules.find((rule) => rule["alert"] === "KlutchInstanceLeftAtBroker"),
    "annotations",
    "summary",
  );
  const tests = [
    {
      interval: "1m",
      input_series: well,
      alert_rule_test: [
        ...silent.map((alertname) => ({ eval_time: "29m", alertname, exp_alerts: [] })),
        {
          eval_time: "50m",
          alertname: "KlutchInstanceLeftAtBroker",
          exp_alerts: [
            {
              exp_labels: { severity: "critical" },
              exp_annotations: { summary: summary?.replace("{{ $value }}", "1") },
            },
          ],
        },
      ],
    },
  ];
  await writeFile(join(folder, "rules.yaml"), formatYaml({ groups }));
  await writeFile(join(folder, "test.yaml"), formatYaml({ rule_files: ["rules.yaml"], tests }));
  const { stdout } = await promtool("test", "rules", "test.yaml");
  assert.match(stdout, /SUCCESS/);
});
