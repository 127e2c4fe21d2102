/** Prepares a test file of an agent that is bound to an honest provider and to one that sends bombs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { consumerNamespace } from "@klutch/api";
import { type AgentProcess, startAgentProcess } from "./agent-process.ts";
import { type Bomb, bombedTenant, type BombServer, startBombServer } from "./bombs.ts";
import { putKubeconfig } from "./credentials.ts";
import { bindApi, type TestApi, testApi } from "./fixture.ts";
import { startTenantFixture, type TenantFixture } from "./tenant-fixture.ts";

/** The state in which the file's tests begin: both APIs are bound, and the first one is ready. */
export interface BombedFixture extends TenantFixture {
  readonly agent: AgentProcess;
  readonly hostile: BombServer;
  /** API of the honest provider. */
  readonly widgets: TestApi;
  /** API of the other one. */
  readonly gizmos: TestApi;
  /** Adds a test for each bomb: its provider meets the agent for five seconds, while the honest one's claims are timed. */
  readonly testBombs: (bombs: Readonly<Record<string, Bomb>>) => void;
}

/** Starts it for the test file that calls this at its top. */
export async function startBombedFixture(): Promise<BombedFixture> {
  const widgets = testApi("widgets", "Widget");
  const gizmos = testApi("gizmos", "Gizmo");
  const fixture = await startTenantFixture({ exported: [widgets] });
  const { consumer, provider, kubeconfig, cleanup, untilReady, createSynced } = fixture;
  const hostile = cleanup.use(await startBombServer(provider));
  const evilSecret = { namespace: consumerNamespace, name: "kubeconfig-evil" };
  const evilKubeconfig = kubeconfig
    .replace(provider.url, hostile.url)
    .replaceAll(/namespace: .*/g, `namespace: ${bombedTenant}`);
  const agent = cleanup.use(await startAgentProcess(consumer));
  await bindApi(fixture, widgets.name, kubeconfig);
  await bindApi(fixture, gizmos.name, evilKubeconfig, [], evilSecret.name);
  await untilReady(widgets.name);
  await createSynced(widgets.type, "before");

  let round = 0;
  /** With new credentials the agent tries at once all that failed. */
  const tryAgain = (): Promise<void> =>
    putKubeconfig(consumer, evilSecret, evilKubeconfig.replace(/token: .*/, `token: round-${++round}`));
  /** Milliseconds of each of the honest provider's claims, the shortest first. */
  const timeClaims = async (): Promise<readonly number[]> => {
    const [begun, before] = [performance.now(), hostile.sent];
    const times: number[] = [];
    while (performance.now() - begun < 5_000 || hostile.sent < before + 6) {
      const asked = performance.now();
      await createSynced(widgets.type, `round-${++round}`);
      times.push(performance.now() - asked);
      if (round % 5 === 0) await tryAgain();
    }
    return times.toSorted((left, right) => left - right);
  };
  const testBombs = (bombs: Readonly<Record<string, Bomb>>): void => {
    for (const [what, bomb] of Object.entries(bombs)) {
      void test(`a provider's ${what} neither fill the memory nor hold up another provider's claims`, async (t) => {
        await agent.peak();
        const before = hostile.sent;
        hostile.arm(bomb);
        const honest = timeClaims();
        const stall = await agent.longestStall(honest);
        const times = await honest;
        const memory = await agent.peak();
        const [median = 0, longest = 0] = [times[times.length >> 1], times.at(-1)];
        t.diagnostic(
          `${memory.toFixed(0)} MiB, stall ${stall.toFixed(0)} ms, claims ${times.length}, ${median.toFixed(0)} ms, at most ${longest.toFixed(0)} ms, ${hostile.sent - before} bombs`,
        );
        assertWithinLimits(agent, memory, stall);
      });
    }
  };
  return { ...fixture, agent, hostile, widgets, gizmos, testBombs };
}

/** Throws when the agent took more memory, in MiB, or stood still for longer, in milliseconds, than its shipped limits allow, or has ended. */
export function assertWithinLimits({ hasExited }: AgentProcess, memory: number, stall: number): void {
  assert.ok(memory < 512, `${memory} MiB, more than the shipped limit`);
  assert.ok(stall < 1_000, `the event loop stood still for ${stall} ms`);
  assert.ok(!hasExited);
}
