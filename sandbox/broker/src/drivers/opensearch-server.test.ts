import assert from "node:assert/strict";
import { test } from "node:test";
import { plans, typeOfService } from "../catalog.ts";
import { javaParameters, tlsParameters, whyNoMemory } from "./opensearch-server.ts";
import { checkParameters } from "./parameters.ts";

test("the plans are those of the services' tables", () => {
  const namesOf = (type: string): readonly string[] =>
    plans.filter(({ serviceId }) => typeOfService(serviceId) === type).map(({ name }) => name);
  assert.deepEqual(namesOf("search").toSorted(), [
    "search-cluster-big-ssl",
    "search-cluster-medium-ssl",
    "search-cluster-small-ssl",
    "search-single-big-ssl",
    "search-single-medium-ssl",
    "search-single-nano-ssl",
    "search-single-small-ssl",
  ]);
  assert.deepEqual(namesOf("logme2").toSorted(), ["logme-cluster-small-ssl", "logme-single-small-ssl"]);
});

test("a server does not start when the plan or the machine has less memory than it needs", () => {
  assert.equal(whyNoMemory(256, 512, 512), undefined);
  assert.match(
    whyNoMemory(257, 512, 9000) ?? "",
    /a heap of 257 MiB needs 513 MiB, but the plan has 512 MiB/,
  );
  assert.match(
    whyNoMemory(1024, 4096, 700) ?? "",
    /needs 1280 MiB of memory, but this machine has 700 MiB; delete other instances, or choose a smaller plan/,
  );
});

test("parameters that Java 17 or TLS lack are refused with those that are possible", () => {
  const checks = { ...javaParameters, ...tlsParameters() };
  for (const [parameters, message] of [
    [{ java_garbage_collector: "UseParallelOldGC" }, /one of UseSerialGC, UseParallelGC, UseG1GC is needed/],
    [{ java_heapspace: 255 }, /java_heapspace is 255, but a whole number from 256 is needed/],
    [{ java_maxmetaspace: 1025 }, /a whole number from 256 to 1024/],
    [{ "tls-protocols": ["SSLv3"] }, /tls-protocols\[0\] is "SSLv3", but one of TLSv1\.2, TLSv1\.3/],
    [{ "tls-ciphers": ["TLS_A\nx"] }, /tls-ciphers\[0\] is .*a cipher suite such as/],
    [
      { "opensearch-tls-ciphers": [] },
      /opensearch-tls-ciphers is not supported by this broker; possible: java/,
    ],
  ] as const)
    assert.throws(() => checkParameters(parameters, checks), message);
});
