/** Starts the broker, and makes an instance of each kind of server with a binding. */
import assert from "node:assert/strict";
import { waitFor } from "@klutch/kube-testing";
import { recordsAt, textAt, valueAt } from "@klutch/kube-core";
import { podOfArguments, startPod } from "./pod-process.ts";

const address = "http://127.0.0.1:8080";
const pod = podOfArguments();
const { BROKER_USERNAME: user, BROKER_PASSWORD: password } = pod.env;
const headers = {
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`,
  "x-broker-api-version": "2.17",
  "content-type": "application/json",
};

async function ask(path: string, body?: object): Promise<unknown> {
  const init = body === undefined ? {} : { method: "PUT", body: JSON.stringify(body) };
  const response = await fetch(`${address}/v2/${path}`, { headers, ...init });
  const answer: unknown = await response.json();
  assert.ok(response.ok, `${path}: ${JSON.stringify(answer)}`);
  return answer;
}

const broker = await startPod(pod, `${address}/healthz`);
const services = recordsAt(await ask("catalog"), "services");
for (const wanted of ["postgresql", "mariadb", "keyvalue"]) {
  const service = services.findLast((each) => textAt(each, "name")?.includes(wanted));
  const service_id = textAt(service, "id");
  const plan_id = textAt(recordsAt(service, "plans")[0], "id");
  assert.ok(service_id !== undefined && plan_id !== undefined, `the broker offers no ${wanted}`);
  const ids = { service_id, plan_id };
  await ask(`service_instances/${wanted}?accepts_incomplete=true`, {
    ...ids,
    organization_guid: "org",
    space_guid: "space",
  });
  await waitFor(`${wanted} is made`, async () => {
    const query = new URLSearchParams(ids).toString();
    const state = textAt(await ask(`service_instances/${wanted}/last_operation?${query}`), "state");
    assert.notEqual(state, "failed", broker.output());
    return state === "succeeded";
  });
  const bound = await ask(`service_instances/${wanted}/service_bindings/${wanted}`, ids);
  assert.ok(valueAt(bound, "credentials") !== undefined, wanted);
}
await broker.end();
