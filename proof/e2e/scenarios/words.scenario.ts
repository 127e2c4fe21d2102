import assert from "node:assert/strict";
import { before, suite, test } from "node:test";
import type { KubeClient } from "@klutch/kube";
import {
  conditionsOf,
  type DynamicObject,
  events,
  findCondition,
  namespaces,
  type ResourceType,
  textAt,
  valueAt,
} from "@klutch/kube-core";
import { namespaceObject, waitFor } from "@klutch/kube-testing";
import { bindings, credentialKeys, instances, nano } from "../claim-kinds.ts";
import { Claims } from "../claims.ts";
import type { OwnSandbox } from "../own-sandbox.ts";

const ready = "klutch.anynines.com/Ready";
const synced = "klutch.anynines.com/Synced";

/** Declares the tests, which want PostgreSQL instances and bindings bound to app cluster A. */
export function wordsForDevelopers(sandbox: OwnSandbox): void {
  suite("what a claim says when something is wrong", () => {
    let appA: KubeClient;
    let controlPlane: KubeClient;
    let claims: Claims;
    before(async () => {
      appA = await sandbox.client("app-a");
      controlPlane = await sandbox.client("control-plane");
      await appA.create(namespaces, namespaceObject("words"));
      claims = new Claims(appA, "words");
    });

    /** The claims upstream, once the namespace of this one is known there. */
    async function upstreamOf(type: ResourceType, name: string): Promise<Claims> {
      const namespace = await waitFor(`${name} upstream`, async () => {
        const { items } = await controlPlane.list<DynamicObject>(type);
        const found = items.find(({ metadata }) => metadata.name === name);
        return found?.metadata.namespace;
      });
      return new Claims(controlPlane, namespace);
    }

    /** The message of a Warning event that a person of the app cluster sees about the object. */
    async function warning(name: string, wanted: RegExp): Promise<string> {
      return waitFor(`a Warning about ${name} with ${wanted.source}`, async () => {
        const { items } = await appA.list<DynamicObject>(events, { namespace: "words" });
        const about = items.filter(
          (event) => event["type"] === "Warning" && textAt(event, "involvedObject", "name") === name,
        );
        const found = about.map((event) => String(event["message"])).find((message) => wanted.test(message));
        if (found === undefined) throw new Error(JSON.stringify(about.map((event) => event["message"])));
        return found;
      });
    }

    test("a refusal is reported in the claim with the field to change, and a corrected claim becomes ready", async (t) => {
      const refusal =
        /^create failed: InvalidParameters: parameters\.wal_level_logical is not supported by this broker; possible: [a-z_, ]+; change spec\.parameters\.walLevelLogical$/;
      const began = performance.now();
      const passed = (): string => `after ${Math.round(performance.now() - began)} ms`;
      await claims.create(instances, "refused", { ...nano, parameters: { walLevelLogical: true } });
      const upstream = await upstreamOf(instances, "refused");
      const said = await upstream.says(instances, "refused", ready, /Refused/);
      t.diagnostic(`the refusal stood upstream ${passed()}`);
      assert.match(said.replace(/^False Refused: /, ""), refusal);
      assert.equal(await upstream.says(instances, "refused", synced, /Refused/), said);
      const seen = await claims.become(instances, "refused", "refused", (claim) =>
        ["Ready", "Synced"].every((type) => findCondition(conditionsOf(claim), type)?.reason === "Refused"),
      );
      t.diagnostic(`the refusal stood in the app cluster ${passed()}`);
      const own = findCondition(conditionsOf(seen), "Ready");
      assert.equal(`${own?.status} ${own?.reason}: ${own?.message}`, said);
      const warned = await warning("refused", /wal_level_logical/);
      assert.match(warned.replace(/^on the provider: /, ""), refusal);
      await claims.patch(instances, "refused", { spec: { parameters: null } });
      await upstream.says(instances, "refused", ready, /^True Available/);
      await upstream.says(instances, "refused", synced, /^True ReconcileSuccess/);
      await claims.delete(instances, "refused");
    });

    test("a binding reports what it waits for, then names its Secret and the keys; an instance that is deleted first names the binding", async () => {
      await claims.create(bindings, "reader", { instanceRef: "held", serviceInstanceType: "postgresql" });
      const upstream = await upstreamOf(bindings, "reader");
      assert.match(
        await upstream.says(bindings, "reader", ready, /WaitingForInstance/),
        /no instance held in the namespace of this binding.*; it continues automatically when the instance is ready$/,
      );
      await claims.create(instances, "held", nano);
      await upstream.says(bindings, "reader", ready, /^True Available/);
      const credentialsOf = (claim: DynamicObject): unknown =>
        valueAt(claim, "status", "managed", "credentials");
      const seen = await claims.become(
        bindings,
        "reader",
        "given keys",
        (claim) => credentialsOf(claim) !== undefined,
      );
      assert.deepEqual(credentialsOf(seen), { name: "reader-creds", keys: credentialKeys });
      await appA.delete(instances, { namespace: "words", name: "held" });
      assert.match(
        await warning("held", /still bound/),
        /^on the provider: delete failed: the instance is still bound by reader; delete these ServiceBindings first$/,
      );
      await claims.delete(bindings, "reader");
      await claims.gone(instances, "held");
    });

    test("the mark of a spec comes back with the answer about that spec, also when the spec changes", async () => {
      const marked = new Claims(controlPlane, "default");
      const mark = (digest: string): object => ({
        annotations: { "klutch.anynines.com/spec-digest": digest },
      });
      const echo = "klutch.anynines.com/SpecObserved";
      await marked.create(instances, "marked", nano, mark("0123456789abcdef"));
      await marked.says(instances, "marked", echo, /^True Sha256_0123456789abcdef: $/);
      await marked.says(instances, "marked", ready, /^True/);
      const change = { metadata: mark("fedcba9876543210"), spec: { plan: "postgresql-single-small" } };
      await marked.patch(instances, "marked", change);
      await marked.says(instances, "marked", echo, /^True Sha256_fedcba9876543210: $/);
      await marked.says(instances, "marked", ready, /^True/);
      await marked.delete(instances, "marked");
    });
  });
}
