import assert from "node:assert/strict";
import { before, suite, test } from "node:test";
import type { KubeClient } from "@klutch/kube";
import {
  conditionsOf,
  type DynamicObject,
  events,
  namespaces,
  type ResourceType,
  textAt,
  valueAt,
} from "@klutch/kube-core";
import { namespaceObject, waitFor } from "@klutch/kube-testing";
import { bindings, instances, nano } from "../claim-kinds.ts";
import type { OwnSandbox } from "../own-sandbox.ts";

/** Declares the tests. */
export function wordsForDevelopers(sandbox: OwnSandbox): void {
  suite("what a claim says when something is wrong", () => {
    let appA: KubeClient;
    let controlPlane: KubeClient;
    before(async () => {
      await sandbox.bind(instances.plural, bindings.plural);
      appA = await sandbox.client("app-a");
      controlPlane = await sandbox.client("control-plane");
      await appA.create(namespaces, namespaceObject("words"));
    });

    const ready = "klutch.anynines.com/Ready";
    const synced = "klutch.anynines.com/Synced";

    function claim({ kind }: ResourceType, name: string, spec: object, metadata: object = {}): DynamicObject {
      return {
        apiVersion: "anynines.com/v1",
        kind,
        metadata: { namespace: "words", name, ...metadata },
        spec,
      };
    }

    /** The provider's object of a claim, in whatever namespace it is. */
    async function upstream(type: ResourceType, name: string): Promise<DynamicObject | undefined> {
      const { items } = await controlPlane.list<DynamicObject>(type);
      return items.find(({ metadata }) => metadata.name === name);
    }

    /** `status reason: message` of the condition of the claim's upstream object, once it fits. */
    async function upstreamSays(
      type: ResourceType,
      name: string,
      of: string,
      wanted: RegExp,
    ): Promise<string> {
      return waitFor(`${of} of ${name} upstream to be ${wanted.source}`, async () => {
        const conditions = conditionsOf(await upstream(type, name));
        const texts = conditions
          .filter((one) => one.type === of)
          .map((one) => `${one.status} ${one.reason}: ${one.message ?? ""}`);
        const found = texts.find((text) => wanted.test(text));
        if (found === undefined) throw new Error(JSON.stringify(conditions));
        return found;
      });
    }

    /** Messages of Warning events about the object that a person of the app cluster sees. */
    async function warningIn(client: KubeClient, name: string, wanted: RegExp): Promise<string> {
      return waitFor(`a Warning about ${name} with ${wanted.source}`, async () => {
        const { items } = await client.list<DynamicObject>(events);
        const about = items.filter(
          (event) => event["type"] === "Warning" && textAt(event, "involvedObject", "name") === name,
        );
        const found = about.map((event) => String(event["message"])).find((message) => wanted.test(message));
        if (found === undefined) throw new Error(JSON.stringify(about.map((event) => event["message"])));
        return found;
      });
    }

    async function gone(type: ResourceType, name: string): Promise<void> {
      const isGone = async (): Promise<boolean> =>
        (await appA.find(type, { namespace: "words", name })) === undefined;
      await waitFor(`${name} to be gone`, isGone, { timeoutMs: 60_000 });
    }

    test("a refusal stands in the claim with the field to change, and what is put right is ready", {
      timeout: 120_000,
    }, async (t) => {
      const refusal =
        /^create failed: InvalidParameters: parameters\.wal_level_logical is not supported by this broker; possible: [a-z_, ]+; change spec\.parameters\.walLevelLogical$/;
      const began = performance.now();
      const ref = { namespace: "words", name: "refused" };
      await appA.create(
        instances,
        claim(instances, "refused", { ...nano, parameters: { walLevelLogical: true } }),
      );
      const said = await upstreamSays(instances, "refused", ready, /Refused/);
      t.diagnostic(`the refusal stood upstream after ${Math.round(performance.now() - began)} ms`);
      assert.match(said.replace(/^False Refused: /, ""), refusal);
      assert.equal(await upstreamSays(instances, "refused", synced, /Refused/), said);
      const seen = await waitFor("the refusal in the app cluster", async () => {
        const all = conditionsOf(await appA.get<DynamicObject>(instances, ref));
        const [own, sync] = ["Ready", "Synced"].map((type) => all.find((one) => one.type === type));
        return own?.reason === "Refused" && sync?.reason === "Refused" ? own : undefined;
      });
      t.diagnostic(`the refusal stood in the app cluster after ${Math.round(performance.now() - began)} ms`);
      assert.equal(`${seen.status} ${seen.reason}: ${seen.message}`, said);
      const warning = await warningIn(appA, "refused", /wal_level_logical/);
      assert.match(warning.replace(/^on the provider: /, ""), refusal);
      await appA.mergePatch(instances, ref, { spec: { parameters: null } });
      await upstreamSays(instances, "refused", ready, /^True Available/);
      await upstreamSays(instances, "refused", synced, /^True ReconcileSuccess/);
      await appA.delete(instances, ref);
      await gone(instances, "refused");
    });

    test("a binding says what it waits for, then names its Secret and the keys; an instance that is deleted first names the binding", {
      timeout: 180_000,
    }, async () => {
      await appA.create(
        bindings,
        claim(bindings, "reader", { instanceRef: "held", serviceInstanceType: "postgresql" }),
      );
      assert.match(
        await upstreamSays(bindings, "reader", ready, /WaitingForInstance/),
        /no instance held in namespace .*; it continues automatically when the instance is ready$/,
      );
      await appA.create(instances, claim(instances, "held", nano));
      await upstreamSays(bindings, "reader", ready, /^True Available/);
      const credentials = await waitFor("the keys in the app cluster", async () =>
        valueAt(
          await appA.get<DynamicObject>(bindings, { namespace: "words", name: "reader" }),
          "status",
          "managed",
          "credentials",
        ),
      );
      const keys = ["host", "hosts", "name", "password", "port", "uri", "username"];
      assert.deepEqual(credentials, { name: "reader-creds", keys });
      await appA.delete(instances, { namespace: "words", name: "held" });
      assert.match(
        await warningIn(appA, "held", /still bound/),
        /^on the provider: delete failed: the instance is still bound by reader; delete these ServiceBindings first$/,
      );
      await appA.delete(bindings, { namespace: "words", name: "reader" });
      await gone(bindings, "reader");
      await gone(instances, "held");
    });

    test("the mark of a spec comes back with the answer about that spec, also when the spec changes", {
      timeout: 120_000,
    }, async () => {
      const ref = { namespace: "default", name: "marked" };
      const mark = (digest: string): object => ({
        annotations: { "klutch.anynines.com/spec-digest": digest },
      });
      await controlPlane.create(
        instances,
        claim(instances, "marked", nano, { ...ref, ...mark("0123456789abcdef") }),
      );
      const echo = "klutch.anynines.com/SpecObserved";
      await upstreamSays(instances, "marked", echo, /^True Sha256_0123456789abcdef: $/);
      await upstreamSays(instances, "marked", ready, /^True/);
      const change = { metadata: mark("fedcba9876543210"), spec: { plan: "postgresql-single-small" } };
      await controlPlane.mergePatch(instances, ref, change);
      await upstreamSays(instances, "marked", echo, /^True Sha256_fedcba9876543210: $/);
      await upstreamSays(instances, "marked", ready, /^True/);
      await controlPlane.delete(instances, ref);
      await waitFor("it to be gone", async () => (await upstream(instances, "marked")) === undefined, {
        timeoutMs: 60_000,
      });
    });
  });
}
