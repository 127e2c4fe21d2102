import assert from "node:assert/strict";
import { test } from "node:test";
import { readTracing } from "./config.ts";

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };
const read = (env: Readonly<Record<string, string>>): ReturnType<typeof readTracing> =>
  readTracing(env, "konnector");

test("traces are off without an endpoint, whatever else is set, and where they are switched off", () => {
  for (const env of [
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: "" },
    { OTEL_EXPORTER_OTLP_ENDPOINT: "  ", OTEL_TRACES_SAMPLER: "nonsense" },
    { ...endpoint, OTEL_SDK_DISABLED: "True" },
    { ...endpoint, OTEL_TRACES_EXPORTER: "none" },
  ])
    assert.deepEqual(read(env), { config: undefined, faults: [] });
});

test("the standard variables are honoured", () => {
  const { config } = read({
    OTEL_EXPORTER_OTLP_ENDPOINT: "https://me:hunter2@collector:4318/otlp/",
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment=a%20b, k8s.cluster.name=one",
    OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
    OTEL_TRACES_SAMPLER_ARG: "0.25",
    OTEL_EXPORTER_OTLP_TIMEOUT: "2000",
    OTEL_BSP_MAX_QUEUE_SIZE: "100",
  });
  assert.deepEqual(config, {
    url: "https://me:hunter2@collector:4318/otlp/v1/traces",
    shownUrl: "https://collector:4318",
    serviceName: "konnector",
    resourceAttributes: { "deployment.environment": "a b", "k8s.cluster.name": "one" },
    sampler: { ratio: 0.25, followsParent: true },
    timeoutMs: 2000,
    maxQueueSize: 100,
    maxBatchSize: 100,
    delayMs: 5000,
  });
  const own = { ...endpoint, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://traces/own" };
  assert.equal(read(own).config?.url, "http://traces/own", "as it is");
  assert.equal(read({ ...endpoint, OTEL_SERVICE_NAME: "mine" }).config?.serviceName, "mine");
  assert.deepEqual(read({ ...endpoint, OTEL_TRACES_SAMPLER: "always_off" }).config?.sampler, {
    ratio: 0,
    followsParent: false,
  });
});

test("a bad value is refused by a sentence that names the variable", () => {
  const refused: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
    [
      { OTEL_TRACES_SAMPLER: "jaeger_remote" },
      /^OTEL_TRACES_SAMPLER is "jaeger_remote", must be always_on, /,
    ],
    [{ OTEL_TRACES_SAMPLER: "toString" }, /^OTEL_TRACES_SAMPLER is "toString"/],
    [
      { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "1.5" },
      /^OTEL_TRACES_SAMPLER_ARG is "1.5", must be a number from 0 to 1$/,
    ],
    [{ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "NaN" }, /^OTEL_TRACES_SAMPLER_ARG/],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, /^OTEL_EXPORTER_OTLP_PROTOCOL is "grpc", must be http\/json$/],
    [{ OTEL_EXPORTER_OTLP_TIMEOUT: "-1" }, /^OTEL_EXPORTER_OTLP_TIMEOUT is "-1", must be a whole number/],
    [{ OTEL_BSP_MAX_QUEUE_SIZE: "0" }, /^OTEL_BSP_MAX_QUEUE_SIZE is "0"/],
    [{ OTEL_RESOURCE_ATTRIBUTES: "token" }, /^OTEL_RESOURCE_ATTRIBUTES must be key=value/],
    [{ OTEL_RESOURCE_ATTRIBUTES: "a=%zz" }, /^OTEL_RESOURCE_ATTRIBUTES must be key=value/],
    [{ OTEL_TRACES_EXPORTER: "zipkin" }, /^OTEL_TRACES_EXPORTER is "zipkin"/],
  ];
  for (const [env, expected] of refused) {
    const { config, faults } = read({ ...endpoint, ...env });
    assert.equal(config, undefined);
    assert.equal(faults.length, 1, JSON.stringify(env));
    assert.match(faults[0] ?? "", expected);
  }
  for (const value of [
    "collector:4318",
    "ftp://me:hunter2@collector",
    "https://me:hunter2@",
    "http://a/#b",
  ]) {
    const { faults } = read({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: value });
    assert.match(faults.join(), /^OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be an http or https URL/);
    assert.doesNotMatch(faults.join(), /hunter2/);
  }
});
