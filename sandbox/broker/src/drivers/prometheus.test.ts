import assert from "node:assert/strict";
import { test } from "node:test";
import { checkParameters } from "./parameters.ts";
import { prometheusParameters } from "./prometheus.ts";

const ask = (scrape_configs: unknown) => checkParameters({ scrape_configs }, prometheusParameters);

test("scrape configurations of addresses are taken as they are", () => {
  const configs = [
    { job_name: "a", metrics_path: "/m", static_configs: [{ targets: ["app.example.org:9090"] }] },
  ];
  assert.deepEqual(ask(configs), { scrape_configs: configs });
});

test("a scrape configuration that would read files of the machine or credentials is refused by name", () => {
  for (const name of [
    "file_sd_configs",
    "authorization",
    "basic_auth",
    "tls_config",
    "kubernetes_sd_configs",
  ])
    assert.throws(
      () => ask([{ job_name: "a" }, { job_name: "b", [name]: {} }]),
      new RegExp(`parameters\\.scrape_configs\\[1\\]\\.${name} is "set", but one of job_name, .*is needed`),
    );
});

test("other values are refused with what is needed", () => {
  assert.throws(() => ask("all"), /parameters\.scrape_configs is "all", but a list of at most 20/);
  assert.throws(
    () => ask(["a"]),
    /parameters\.scrape_configs\[0\] is "a", but a scrape configuration with a job_name/,
  );
  assert.throws(() => ask([{}]), /scrape_configs\[0\] is \{\}, but a scrape configuration with a job_name/);
});
