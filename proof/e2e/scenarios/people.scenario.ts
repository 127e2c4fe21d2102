/** Two people, two app clusters and a limit, with the tools of operators and developers: RBAC decides, a quota counts, one command removes a leaver. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { before, suite, test } from "node:test";
import {
  type APIServiceBinding,
  apiServiceBindings,
  apiServiceExportTemplates,
  consumerNamespace,
  type Tenant,
  tenants,
} from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import { clusterRoleBindings, type DynamicObject, namespaces, type ResourceType } from "@klutch/kube-core";
import {
  allowPeople,
  anyObject,
  crdObject,
  namespaceObject,
  objectOfType,
  ruleOn,
  waitFor,
} from "@klutch/kube-testing";
import { run } from "@klutch/engines";
import { bindApis, clusterNamespaceOf, sandboxColleague } from "@klutch/launcher";
import { offerKind } from "../offered-kind.ts";
import { backendUrlIn, cliFilesIn, type OwnSandbox } from "../own-sandbox.ts";

const cards: ResourceType = {
  group: "people.example",
  version: "v1",
  plural: "cards",
  kind: "Card",
  namespaced: true,
};
const name = `${cards.plural}.${cards.group}`;
const namespace = "people";
const owner = "platform@example.com";

/** Declares the tests, which want both app clusters bound by the developer. */
export function peopleAndLimits(sandbox: OwnSandbox): void {
  // One test goes on where the other ends.
  suite("people and limits", { concurrency: 1 }, () => {
    const cli = cliFilesIn(sandbox.folder);
    const { kubeconfigs } = cli;
    let [controlPlane, appA, appB]: KubeClient[] = [];

    const clients = (): Readonly<Record<"controlPlane" | "appA" | "appB", KubeClient>> => {
      assert.ok(controlPlane !== undefined && appA !== undefined && appB !== undefined);
      return { controlPlane, appA, appB };
    };
    const bind = (cluster: "appA" | "appB", person?: string): Promise<void> =>
      bindApis(cli, cluster, backendUrlIn(sandbox.printed()), [name], undefined, undefined, person);
    const klutch = async (cluster: keyof typeof kubeconfigs, ...args: readonly string[]): Promise<string> => {
      const env = { ...process.env, KUBECONFIG: kubeconfigs[cluster] };
      return (await run(join(cli.bin, "klutch"), args, { env })).stdout;
    };
    /** Applies a card as a developer does. */
    const apply = async (cluster: "appA" | "appB", card: string): Promise<void> => {
      await clients()[cluster].create(cards, objectOfType(cards, { name: card, namespace }, { spec: {} }));
    };
    const copies = async (): Promise<readonly string[]> =>
      (await clients().controlPlane.list<DynamicObject>(cards)).items
        .map(({ metadata }) => metadata.name ?? "")
        .toSorted();
    const canBind = async (): Promise<string> => {
      const env = { ...process.env, KUBECONFIG: kubeconfigs.controlPlane };
      const args = [
        "auth",
        "can-i",
        "bind",
        "apiserviceexporttemplates/cards",
        "--namespace=crossplane-system",
      ];
      const asked = run(join(cli.bin, "kubectl"), [...args, `--as=oidc:${sandboxColleague}`], { env });
      return asked.then(
        ({ stdout }) => stdout.trim(),
        () => "no",
      );
    };

    before(async () => {
      controlPlane = await sandbox.client("control-plane");
      [appA, appB] = [await sandbox.client("app-a"), await sandbox.client("app-b")];
      for (const client of [appA, appB]) await client.create(namespaces, namespaceObject(namespace));
      const crd = crdObject(cards, { properties: { spec: anyObject, status: anyObject } });
      await offerKind(controlPlane, cards, crd);
    });

    test("a colleague binds nothing until an operator gives the right, and then what kubectl auth can-i says", async () => {
      assert.equal(await canBind(), "no");
      await assert.rejects(bind("appB", sandboxColleague), /There is no API that you may bind here/);
      const rule = ruleOn(apiServiceExportTemplates, ["bind"], [cards.plural]);
      await allowPeople(clients().controlPlane, "bind-cards", rule, [["User", `oidc:${sandboxColleague}`]]);
      assert.equal(await canBind(), "yes");
      // An answer of RBAC holds for ten seconds.
      await waitFor("the right to count", () => bind("appB", sandboxColleague).then(() => true), {
        timeoutMs: 60_000,
      });
      await bind("appA");
    });

    test("over the limit of its tenant, a developer reads at kubectl apply how many this cluster may have, and whom to ask", async () => {
      const tenant = { namespace: (await clusterNamespaceOf(clients().appA)) ?? "", name: "tenant" };
      const limit = (max: number): Promise<unknown> =>
        clients().controlPlane.mergePatch<Tenant>(tenants, tenant, {
          spec: { owner, limits: { objects: [{ group: cards.group, resource: cards.plural, max }] } },
        });
      await limit(1);
      const ref = { namespace: consumerNamespace, name };
      const limited = (max: number, used: number): Promise<unknown> =>
        waitFor(
          `the limit ${used} of ${max} in the app cluster`,
          async () => {
            const { status } = await clients().appA.get<APIServiceBinding>(apiServiceBindings, ref);
            return status?.limit?.max === max && status.limit.used === used;
          },
          { timeoutMs: 120_000 },
        );
      await limited(1, 0);
      await apply("appA", "first");
      await limited(1, 1);
      await assert.rejects(
        apply("appA", "second"),
        /this cluster may have 1 cards, has 1; ask platform@example\.com/,
      );
      // The other app cluster has no limit.
      for (const card of ["of-b-one", "of-b-two"]) await apply("appB", card);
      await limit(2);
      await limited(2, 1);
      // The API server takes up a changed policy a moment after the status names the limit.
      await waitFor("the higher limit to let the card through", async () => {
        await apply("appA", "second");
        return true;
      });
      const all = ["first", "of-b-one", "of-b-two", "second"];
      await waitFor("all cards in the control plane", async () => String(await copies()) === String(all));
    });

    test("a leaver is removed by one command, what they bound goes on in other hands, and they bind no more", async () => {
      assert.match(await klutch("controlPlane", "members"), /colleague/);
      await clients().controlPlane.delete(clusterRoleBindings, { name: "bind-cards" });
      const takenAt = performance.now();
      await klutch("controlPlane", "revoke", "member", `oidc:${sandboxColleague}`, "--keep-apis", "--yes");
      assert.doesNotMatch(await klutch("controlPlane", "members"), /colleague/);
      // The backend holds an answer of RBAC for ten seconds.
      await new Promise((resolve) => setTimeout(resolve, takenAt + 11_000 - performance.now()));
      await assert.rejects(bind("appB", sandboxColleague));
      await apply("appB", "afterwards");
      await waitFor("the card of B", async () => (await copies()).includes("afterwards"));
    });

    test("both app clusters let go of the API", async () => {
      for (const cluster of ["appA", "appB"] as const)
        await klutch(cluster, "unbind", name, "--yes", "--delete");
      assert.deepEqual(await copies(), []);
    });
  });
}
