/** The dashboards as Helm renders them, with queries that Prometheus' own checker takes. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { resolveDebian, run } from "@klutch/engines";
import { formatYaml } from "@klutch/kube";
import { recordAt } from "@klutch/kube-core";
import { chartPath, objectOf, startHelm } from "../charts/testing/helm.ts";
import { atHome, minimal } from "../charts/testing/values.ts";
import { dashboards, panelsIn } from "./dashboards.ts";
import { dashboardFiles, queryOf } from "./print.ts";

test("each chart makes its ConfigMap for Grafana's sidecar when it is asked to, with the text as it is", async () => {
  await using helm = await startHelm();
  for (const { chart, name } of dashboards) {
    const isDashboard = (object: object): boolean =>
      recordAt(object, "metadata", "labels")["grafana_dashboard"] !== undefined;
    const usual = await helm.template(chartPath(chart), minimal[chart], ...atHome[chart]);
    assert.ok(!usual.some(isDashboard));
    const wish = {
      enabled: true,
      labels: { team: "data" },
      annotations: { grafana_folder: "Klutch {{ x }}" },
    };
    const values = { ...minimal[chart], dashboards: wish };
    const all = await helm.template(chartPath(chart), values, ...atHome[chart]);
    assert.equal(all.filter(isDashboard).length, 1);
    const map = objectOf(all, "ConfigMap", `klutch-dashboard-${name}`);
    const labels = recordAt(map, "metadata", "labels");
    assert.equal(labels["grafana_dashboard"], "1");
    assert.equal(labels["team"], "data");
    assert.deepEqual(recordAt(map, "metadata", "annotations"), wish.annotations);
    assert.deepEqual(map["data"], {
      [`klutch-${name}.json`]: dashboardFiles(chart)[`dashboards/${name}.json`],
    });
    const refused = { ...minimal[chart], dashboards: { enabled: "yes" } };
    await assert.rejects(helm.template(chartPath(chart), refused, ...atHome[chart]), /dashboards/);
  }
});

test("Prometheus takes each query", async () => {
  const folder = await mkdtemp(join(tmpdir(), "klutch-dashboards-"));
  try {
    const queries = dashboards.flatMap((dashboard) =>
      panelsIn(dashboard).flatMap((panel) =>
        panel.queries.map((query) =>
          queryOf(query.expression, dashboard.chart).replaceAll("$__rate_interval", "1m"),
        ),
      ),
    );
    const rules = queries.map((expr, index) => ({ record: `query:${index}`, expr }));
    await writeFile(join(folder, "rules.yaml"), formatYaml({ groups: [{ name: "queries", rules }] }));
    const prometheus = await resolveDebian("prometheus");
    const { stdout } = await run(prometheus.path("promtool"), ["check", "rules", "rules.yaml"], {
      cwd: folder,
      env: { ...process.env, ...prometheus.env },
    });
    assert.match(stdout, new RegExp(`SUCCESS: ${queries.length} rules found`));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
