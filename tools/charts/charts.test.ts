import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { backendProgram } from "@klutch/backend";
import { konnectorProgram } from "@klutch/konnector";
import { parseYaml } from "@klutch/kube";
import { valueAt } from "@klutch/kube-core";
import { repositoryRoot } from "../root.ts";
import { chartsFolder } from "./chart.ts";
import { chartDefinitions, chartFiles } from "./charts.ts";
import { valuesIn } from "./values.ts";

const charts = chartDefinitions();

for (const { name, values } of charts) {
  test(`${name}: each value and group says in a sentence what it is, and stands once`, () => {
    for (const { path, about } of values) assert.match(about, /^\S.*\.$/, path);
    const paths = values.map(({ path }) => path);
    assert.deepEqual(paths, [...new Set(paths)]);
  });

  test(`${name}: values.yaml has each value with its default, below its group`, () => {
    const file: unknown = parseYaml(chartFiles().get(`${chartsFolder}/${name}/values.yaml`) ?? "");
    for (const value of valuesIn(values))
      assert.deepEqual(valueAt(file, ...value.path.split(".")), value.default, value.path);
  });
}

/** Flags without a value: not for a Pod, or left at the program's default. */
const leftOut: Readonly<Record<string, readonly string[]>> = {
  klutch: ["kubeconfig"],
  "klutch-konnector": [
    "kubeconfig",
    "lease-name",
    "no-install-crd",
    "probe-host",
    "probe-port",
    "v",
    "vmodule",
    "logging-format",
    "log-flush-frequency",
    // The backend starts konnectors that run beside it.
    "bind-token-file",
    "control-plane-mode",
    "app-cluster-kubeconfig-secret-name",
    "app-cluster-kubeconfig-secret-namespace",
    "app-cluster-kubeconfig-secret-key",
    "binding-root-namespace",
  ],
};

const programs = { klutch: backendProgram, "klutch-konnector": konnectorProgram };

for (const { name, values } of charts) {
  test(`${name}: each flag of the program has a value, is set by the template, or is left out on purpose`, () => {
    const template = ["deployment.yaml", "_deployment.tpl", "_container.tpl"]
      .map((file) => join(repositoryRoot, chartsFolder, name, "templates", file))
      .filter((path) => existsSync(path))
      .map((path) => readFileSync(path, "utf8"))
      .join("\n");
    const flags = Object.entries(programs[name].flags);
    const unknown = flags.filter(([flag, { env }]) => {
      const isValue = valuesIn(values).some((value) => value.flag === flag);
      const isSet =
        template.includes(`--${flag}=`) || (env !== undefined && template.includes(`name: ${env}\n`));
      return Number(isValue) + Number(isSet) + Number(leftOut[name]?.includes(flag)) !== 1;
    });
    assert.deepEqual(
      unknown.map(([flag]) => flag),
      [],
    );
  });
}
