/** The alerts, judged by Prometheus' own checker, and held against metrics, charts and runbooks. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { resolveDebian, run } from "@klutch/engines";
import { formatYaml, parseYaml } from "@klutch/kube";
import { recordsAt } from "@klutch/kube-core";
import { chartPath, objectOf, startHelm } from "../charts/testing/helm.ts";
import { atHome, minimal } from "../charts/testing/values.ts";
import { catalogue } from "../generate/metrics-page.ts";
import { repositoryRoot } from "../root.ts";
import { type AlertChart, alerts, jobsOf } from "./alerts.ts";
import { objectiveLabels, recordings } from "./objectives.ts";
import { alertRules, anchorOf, recordingRules, type Rule, ruleGroup, rulesFile } from "./print.ts";
import { cases, type Case, series } from "./testing/cases.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-alerts-"));
after(() => rm(folder, { recursive: true, force: true }));

const { groups } = rulesFile();
const prometheus = await resolveDebian("prometheus");
const promtool = (...args: readonly string[]): Promise<{ readonly stdout: string }> =>
  run(prometheus.path("promtool"), args, { cwd: folder, env: { ...process.env, ...prometheus.env } });
const charts = ["klutch", "klutch-konnector"] as const;
const rules = charts.flatMap((chart) => alertRules(chart));

test("Prometheus takes each alert, as the page on monitoring shows them", async () => {
  const page = await readFile(join(repositoryRoot, "docs", "monitoring.md"), "utf8");
  const [, block = ""] = /^```yaml\n([^]*?)^```$/m.exec(page) ?? [];
  assert.deepEqual(parseYaml(block), { groups });
  for (const group of groups) {
    await writeFile(join(folder, "rules.yaml"), formatYaml({ groups: [group] }));
    const { stdout } = await promtool("check", "rules", "rules.yaml");
    assert.match(stdout, new RegExp(`SUCCESS: ${group.rules.length} rules found`));
  }
});

test("each chart has its alerts, thresholds follow values, and a link stays text", async () => {
  await using helm = await startHelm();
  const rendered = async (chart: AlertChart, values: object): Promise<readonly Rule[]> => {
    const all = await helm.template(chartPath(chart), { ...minimal[chart], ...values }, ...atHome[chart]);
    const [group] = recordsAt(objectOf(all, "PrometheusRule"), "spec", "groups");
    return recordsAt(group, "rules") as unknown as readonly Rule[];
  };
  for (const chart of charts) {
    const usual = await rendered(chart, { prometheusRule: { enabled: true } });
    assert.deepEqual(usual, ruleGroup(chart).rules);
    const runbookUrl = "https://example.org/a: {b}";
    const prometheusRule = { enabled: true, credentialHours: 2, queueSeconds: 1_000_000, runbookUrl };
    const changed = await rendered(chart, { prometheusRule });
    const named = (name: string): Rule | undefined => changed.find(({ alert }) => alert === name);
    assert.match(named("KlutchQueueStuck")?.expr ?? "", / > 1000000$/);
    const credential = chart === "klutch" ? "KlutchTenantCredentialEnds" : "KlutchCredentialEnds";
    assert.match(named(credential)?.expr ?? "", / < 2 \* 3600$/);
    assert.equal(named("KlutchNoLeader")?.annotations["runbook_url"], `${runbookUrl}#klutchnoleader`);
    await assert.rejects(
      rendered(chart, { prometheusRule: { enabled: true, queueSeconds: "soon" } }),
      /queueSeconds/,
    );
  }
});

test("each alert asks for metrics and labels that our programs have, and says what is wrong in a sentence", () => {
  const judged = [
    ...rules,
    ...charts.flatMap((chart) =>
      recordingRules(chart).map(({ record, expr }) => ({ alert: record, expr, annotations: undefined })),
    ),
  ];
  for (const { alert, expr, annotations } of judged) {
    const recorded = expr.match(/\bslo:\w+:\w+/g) ?? [];
    for (const name of recorded)
      assert.ok(
        recordings.some((each) => each.name === name),
        `${alert}: ${name}`,
      );
    if (recorded.length > 0 || expr.startsWith("vector(")) continue;
    const names = expr.match(/\b(?:klutch|controller_runtime|workqueue|leader_election)_\w+/g) ?? [];
    assert.ok(names.length > 0, alert);
    for (const name of names) {
      const metric = catalogue.find((one) => one.name === name.replace(/_bucket$/, ""));
      assert.ok(metric !== undefined, `${alert}: there is no metric ${name}`);
      const inner = new RegExp(String.raw`\b${name}\{([^}]*)\}`).exec(expr)?.[1] ?? "";
      for (const [, label = ""] of inner.matchAll(/(\w+)=~?"/g))
        assert.ok(label === "job" || metric.labels.includes(label), `${alert}: ${name}{${label}}`);
      if (!name.startsWith("klutch_")) assert.match(inner, /^job=~/, `${alert}: others have ${name}, too`);
    }
    if (annotations !== undefined) assert.match(annotations["summary"] ?? "", /^.{20,}\.$/, alert);
  }
});

test("each alert links to a section of its own that says what to do, and no section is left over", async () => {
  const page = await readFile(join(repositoryRoot, "docs", "troubleshooting.md"), "utf8");
  const [, section = ""] = page.split("## When an alert fires\n");
  const texts = section.split(/^### /m).slice(1);
  assert.deepEqual(
    texts.map((text) => text.split("\n")[0]),
    alerts.map(({ name }) => name),
  );
  for (const text of texts) assert.ok(text.length > 150, text);
  for (const rule of rules)
    assert.equal(rule.annotations["runbook_url"]?.split("#")[1], anchorOf({ name: rule.alert }));
});

/** Runs promtool's test of one case: before the fault the alert is silent, in it the alert fires, after it the alert is silent again. */
async function judge(
  chart: AlertChart,
  { alert, fault, well, labels, afterwards = 200 }: Case,
): Promise<void> {
  const rule = alertRules(chart).find((each) => each.alert === alert);
  assert.ok(rule !== undefined, `${alert} of ${chart}`);
  const job = jobsOf[chart].split("|")[0] ?? "";
  // Three hours well, six hours of the fault, three hours well.
  const input = series(job, well, fault, afterwards);
  const at = (time: string, isFiring: boolean): object => ({
    eval_time: time,
    alertname: alert,
    exp_alerts: isFiring ? [{ exp_labels: { ...rule.labels, ...labels } }] : [],
  });
  // Promtool compares annotations, too; those are Prometheus' own templates.
  const bare = {
    groups: [{ name: chart, rules: [...recordingRules(chart), { ...rule, annotations: undefined }] }],
  };
  const tests = [
    {
      interval: "1m",
      input_series: input,
      alert_rule_test: [at("179m", false), at("535m", true), at(`${519 + afterwards}m`, false)],
    },
  ];
  await writeFile(join(folder, "case-rules.yaml"), formatYaml(JSON.parse(JSON.stringify(bare))));
  await writeFile(join(folder, "case.yaml"), formatYaml({ rule_files: ["case-rules.yaml"], tests }));
  const { stdout } = await promtool("test", "rules", "case.yaml");
  assert.match(stdout, /SUCCESS/);
}

for (const chart of charts) {
  for (const each of cases.filter(({ alert }) => alertRules(chart).some((rule) => rule.alert === alert)))
    test(`${chart}: ${each.alert} fires in its fault, and not before or after`, () => judge(chart, each));
}

test("three lost probes wake no one, and seven do", async () => {
  const rules = [...recordingRules("klutch-konnector"), ...alertRules("klutch-konnector")].filter(
    (rule) => "record" in rule || rule.alert === "KlutchErrorBudgetBurnsFast",
  );
  const bare = rules.map((rule) => ({ ...rule, annotations: undefined }));
  await writeFile(
    join(folder, "lost-rules.yaml"),
    formatYaml(JSON.parse(JSON.stringify({ groups: [{ name: "lost", rules: bare }] }))),
  );
  const labels = { severity: "critical", ...objectiveLabels };
  const lostFor = (minutes: number, expected: readonly object[]): object => ({
    interval: "1m",
    input_series: [
      { outcome: "answered", values: `0+1x119 119+0x${minutes - 1} 120+1x60` },
      { outcome: "lost", values: `0+0x119 1+1x${minutes - 1} ${minutes}+0x60` },
    ].map(({ outcome, values }) => ({
      series: `klutch_canary_probes_total{job="konnector-metrics",outcome="${outcome}"}`,
      values,
    })),
    alert_rule_test: [
      { eval_time: `${119 + minutes}m`, alertname: "KlutchErrorBudgetBurnsFast", exp_alerts: expected },
    ],
  });
  const tests = [lostFor(1, []), lostFor(3, []), lostFor(7, [{ exp_labels: labels }])];
  await writeFile(join(folder, "lost.yaml"), formatYaml({ rule_files: ["lost-rules.yaml"], tests }));
  assert.match((await promtool("test", "rules", "lost.yaml")).stdout, /SUCCESS/);
});

test("every alert has a case", () => {
  assert.deepEqual(cases.map(({ alert }) => alert).toSorted(), alerts.map(({ name }) => name).toSorted());
});

test("metrics of the same names from other programs make no alert fire", async () => {
  const strangers = cases.flatMap(({ fault, well }) =>
    series("cert-manager", well, fault).filter(({ series: name }) => !name.startsWith("klutch_")),
  );
  assert.ok(strangers.length > 4);
  const silent = rules.map(({ alert }) => ({ eval_time: "535m", alertname: alert, exp_alerts: [] }));
  const tests = [{ interval: "1m", input_series: strangers, alert_rule_test: silent }];
  await writeFile(join(folder, "rules.yaml"), formatYaml({ groups }));
  await writeFile(join(folder, "strangers.yaml"), formatYaml({ rule_files: ["rules.yaml"], tests }));
  assert.match((await promtool("test", "rules", "strangers.yaml")).stdout, /SUCCESS/);
});
