/** Two app clusters at one control plane: nothing that happens in one is felt in the other. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { before, suite, test } from "node:test";
import { claimNameLabel, claimNamespaceLabel, serviceInstances } from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import {
  customResourceDefinitions,
  type DynamicObject,
  namespaces,
  recordAt,
  type ResourceType,
  secrets,
  secretText,
  valueAt,
} from "@klutch/kube-core";
import { anyObject, crdObject, namespaceObject, waitFor } from "@klutch/kube-testing";
import { run } from "@klutch/engines";
import { bindApis, clusterNamespaceOf } from "@klutch/launcher";
import { bindings, instances, nano } from "../claim-kinds.ts";
import { Claims, sql } from "../claims.ts";
import { offerKind } from "../offered-kind.ts";
import { backendUrlIn, cliFilesIn, type OwnSandbox } from "../own-sandbox.ts";

const notes: ResourceType = {
  group: "twins.example",
  version: "v1",
  plural: "notes",
  kind: "Note",
  namespaced: true,
};
const notesName = `${notes.plural}.${notes.group}`;
const ofTwin = { instanceRef: "twin", serviceInstanceType: "postgresql" };

/** Declares the tests, which want PostgreSQL bound to both app clusters. */
export function twoAppClusters(sandbox: OwnSandbox): void {
  // One test goes on where the other ends.
  suite("two app clusters", { concurrency: 1 }, () => {
    let clients: readonly [appA: KubeClient, appB: KubeClient];
    let twins: readonly [inA: Claims, inB: Claims];
    let controlPlane: KubeClient;

    before(async () => {
      controlPlane = await sandbox.client("control-plane");
      clients = [await sandbox.client("app-a"), await sandbox.client("app-b")];
      for (const client of clients) await client.create(namespaces, namespaceObject("twins"));
      twins = [new Claims(clients[0], "twins"), new Claims(clients[1], "twins")];
    });

    const inBoth = <T>(act: (claims: Claims, index: 0 | 1) => Promise<T>): Promise<[T, T]> =>
      Promise.all([act(twins[0], 0), act(twins[1], 1)]);

    test("claims of one name in namespaces of one name have databases of their own, though B's konnector is killed meanwhile", async () => {
      await inBoth(async (claims) => {
        await claims.create(instances, "twin", nano);
        await claims.create(bindings, "app", ofTwin);
      });
      for (const pid of await konnectorsOf(sandbox.folder, "app-b")) process.kill(pid, "SIGKILL");
      await inBoth((claims) => claims.ready(bindings, "app"));
      const write = (claims: Claims, index: number): Promise<unknown> =>
        claims.query("app-creds", `create table notes as select ${index} as of_cluster`);
      await inBoth(write);
      assert.deepEqual(await inBoth((claims) => claims.query("app-creds", "select of_cluster from notes")), [
        [0],
        [1],
      ]);
      const uris = await inBoth(async (claims) => {
        const secret = await claims.find(secrets, "app-creds");
        return new URL(secretText(secret, "uri") ?? "");
      });
      for (const [who, whose] of [uris, uris.toReversed()]) {
        assert.ok(who !== undefined && whose !== undefined && who.pathname !== whose.pathname);
        const crossed = Object.assign(new URL(who), { pathname: whose.pathname });
        await assert.rejects(sql(crossed.href, "select 1"), /permission denied for database/);
      }
    });

    test("claims of one kind that both change at the same time each get their own change", async () => {
      const plans = ["postgresql-single-small", "postgresql-single-big"] as const;
      await inBoth((claims, index) => claims.patch(instances, "twin", { spec: { plan: plans[index] } }));
      const namespace = (await clusterNamespaceOf(clients[0])) ?? "";
      const seen = async (): Promise<boolean> => {
        const { items } = await controlPlane.list<DynamicObject>(serviceInstances);
        const pair = items
          .filter(({ metadata: { labels } }) => labels?.[claimNameLabel] === "twin")
          .toSorted(({ metadata: { labels } }) =>
            labels?.[claimNamespaceLabel]?.startsWith(namespace) === true ? -1 : 1,
          );
        // Both had one plan before, so two ids are the broker's answers to two changes.
        const wanted = pair.map(({ spec }) => valueAt(spec, "forProvider", "planName"));
        const made = new Set(pair.map(({ status }) => valueAt(status, "atProvider", "planId")));
        if (String(wanted) === String(plans) && made.size === 2) return true;
        throw new Error(JSON.stringify(pair));
      };
      await waitFor("each plan at its own instance", seen, { timeoutMs: 240_000 });
      await inBoth((claims) => claims.ready(instances, "twin"));
    });

    test("a kind that an operator offers and extends reaches both; B lets go of it, and A keeps its objects", async () => {
      const schema = (...fields: readonly string[]): DynamicObject => {
        const properties = Object.fromEntries(fields.map((field) => [field, { type: "string" }]));
        return crdObject(notes, { properties: { spec: { type: "object", properties }, status: anyObject } });
      };
      await offerKind(controlPlane, notes, schema("text"));
      const cli = cliFilesIn(sandbox.folder);
      const bind = (cluster: "appA" | "appB"): Promise<void> =>
        bindApis(cli, cluster, backendUrlIn(sandbox.printed()), [notesName]);
      await Promise.all([bind("appA"), bind("appB")]);
      await inBoth((claims, index) => claims.create(notes, "one", { text: `of ${index}` }));
      const copies = async (): Promise<readonly string[]> => {
        const { items } = await controlPlane.list<DynamicObject>(notes);
        return items.map(({ spec }) => JSON.stringify(spec)).toSorted();
      };
      const both = ['{"text":"of 0"}', '{"text":"of 1"}'];
      await waitFor("both notes in the control plane", async () => String(await copies()) === String(both));
      await controlPlane.mergePatch(
        customResourceDefinitions,
        { name: notesName },
        {
          spec: { versions: recordAt(schema("text", "more"), "spec")["versions"] },
        },
      );
      for (const [index, client] of clients.entries())
        await waitFor(`the new field in app cluster ${index}`, async () =>
          JSON.stringify(await client.get(customResourceDefinitions, { name: notesName })).includes('"more"'),
        );
      const env = { ...process.env, KUBECONFIG: cli.kubeconfigs.appB };
      await run(join(cli.bin, "klutch"), ["unbind", notesName, "--yes", "--delete"], { env });
      assert.deepEqual(await copies(), both.slice(0, 1));
      await twins[0].patch(notes, "one", { spec: { more: "goes on" } });
      const changed = ['{"more":"goes on","text":"of 0"}'];
      await waitFor("A's change", async () => String(await copies()) === String(changed));
      await run(join(cli.bin, "klutch"), ["unbind", notesName, "--yes", "--delete"], {
        env: { ...env, KUBECONFIG: cli.kubeconfigs.appA },
      });
    });

    test("both give their databases back, one after the other", async () => {
      for (const claims of twins.toReversed()) {
        await claims.delete(bindings, "app");
        await claims.delete(instances, "twin");
      }
    });
  });
}

/** Returns the processes of an app cluster's konnector, which they are by their kubeconfig. */
async function konnectorsOf(folder: string, cluster: string): Promise<readonly number[]> {
  const kubeconfig = `KUBECONFIG=${join(folder, "konnectors", cluster)}`;
  const processes = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const isMeant = async (pid: string): Promise<boolean> =>
    (await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "")).includes(kubeconfig);
  const meant = await Promise.all(processes.map(isMeant));
  const found = processes.filter((_, index) => meant[index]).map(Number);
  assert.ok(found.length > 0, `no konnector of ${cluster} runs`);
  return found;
}
