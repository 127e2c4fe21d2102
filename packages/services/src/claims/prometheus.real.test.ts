import { test } from "node:test";
import { claimResource } from "../data-service.ts";
import { type ChangeCase, type ClaimCase, startClaimServer, verdict } from "../testing/claim-server.ts";

const claims = claimResource("PrometheusInstance");
const server = await startClaimServer("prometheus-claims");

const instance = (spec: object = {}): object => ({
  service: "a9s-prometheus",
  plan: "prometheus-single-small",
  ...spec,
});

const cases: readonly ClaimCase[] = [
  ["an instance without a compositionRef", instance(), undefined],
  ["an unknown plan", instance({ plan: "prometheus-single-nano" }), /Unsupported plan used/],
  ["an unknown service", instance({ service: "a9s-other" }), /Unsupported service used/],
  ["a plan with Grafana", instance({ plan: "prometheus2-grafana10-single-big" }), undefined],
  [
    "anything to scrape",
    instance({ parameters: { scrapeConfigs: [{ job_name: "a", static_configs: [{ targets: ["b:1"] }] }] } }),
    undefined,
  ],
  ["a word to scrape", instance({ parameters: { scrapeConfigs: ["a"] } }), /must be of type object/],
];
for (const [index, [what, spec, message]] of cases.entries())
  test(`${verdict(message)}: ${what}`, () => server.claim(claims, `claim-${index}`, spec, message));

const changes: readonly ChangeCase[] = [
  [
    "a larger plan",
    instance(),
    { plan: "prometheus-single-big" },
    /Upgrade functionality for Prometheus plans is not/,
  ],
  ["other parameters", instance(), { parameters: { mappingStrictMatch: false } }, undefined],
];
for (const [index, change] of changes.entries())
  test(`${verdict(change[3])}: a change to ${change[0]}`, () =>
    server.change(claims, `change-${index}`, change));
