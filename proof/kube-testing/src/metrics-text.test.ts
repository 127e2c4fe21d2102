import assert from "node:assert/strict";
import { test } from "node:test";
import { openWatchesIn, samplesOf } from "./metrics-text.ts";

const text = `# HELP apiserver_request_total Counter of requests
# TYPE apiserver_request_total counter
apiserver_request_total{code="201",resource="widgets",verb="POST"} 12
apiserver_request_total{code="200",resource="a{b}",verb="GET"} 1.5e+03
apiserver_request_total_other{code="200"} 7
process_start_time_seconds 1.7e9 1700000000000`;

test("the samples of a metric are read with their labels", () => {
  assert.deepEqual(samplesOf(text, "apiserver_request_total"), [
    { labels: { code: "201", resource: "widgets", verb: "POST" }, value: 12 },
    { labels: { code: "200", resource: "a{b}", verb: "GET" }, value: 1500 },
  ]);
});

test("a metric without labels and with a time stamp is read, an absent one has no samples", () => {
  assert.deepEqual(samplesOf(text, "process_start_time_seconds"), [{ labels: {}, value: 1.7e9 }]);
  assert.deepEqual(samplesOf(text, "nothing"), []);
});

test("watches are open requests of that verb alone", () => {
  const line = (verb: string, value: number): string =>
    `apiserver_longrunning_requests{component="apiserver",group="",resource="pods",verb="${verb}"} ${value}`;
  const [watch, ...others] = openWatchesIn([line("CONNECT", 3), line("WATCH", 2)].join("\n"));
  assert.deepEqual([watch?.labels["resource"], watch?.value, others.length], ["pods", 2, 0]);
});
