/** Measures the delays that users notice when something ends in a burst of their edits. */
import type { BindingFixture } from "../../e2e/security/bound-fixture.ts";
import { makeLivingClaims, type Measured, measureStretch } from "../../e2e/upgrade/measured.ts";
import { editClaims } from "../../e2e/upgrade/traffic.ts";
import { describeLoad } from "./program.ts";

/** Something that ends. */
export interface Ending {
  readonly title: string;
  /** Happens in each round. Default: nothing. */
  readonly happens?: () => Promise<unknown>;
  /** Makes it whole again after each round. */
  readonly after?: () => Promise<unknown>;
}

/** Sizes of a run. */
export interface EndingsOptions {
  readonly claims: number;
  /** Claims with a Secret. */
  readonly secrets: number;
  readonly rounds: number;
  /** Comes once the claims are there. Default: nothing. */
  readonly prepare?: () => Promise<unknown>;
}

/** Makes claims, edits 50 of them while one ending after the other happens, and prints a line for each. An edit that does not come through throws. */
export async function measureEndings(
  fixture: BindingFixture,
  { claims, secrets, rounds, prepare }: EndingsOptions,
  endings: readonly Ending[],
): Promise<void> {
  const names = await makeLivingClaims(fixture, { claims, secrets: Math.min(secrets, claims) });
  await prepare?.();
  await using traffic = editClaims(fixture, { names: names.slice(0, 50), serversEnd: true });
  console.log(`${claims} claims, two of each part; load ${describeLoad()}`);
  for (const { title, happens = async () => undefined, after } of endings) {
    const seen: Measured[] = [];
    for (let round = 1; round <= rounds; round++) {
      seen.push(await measureStretch(fixture, traffic, { name: `${title} ${round}`, happens }));
      await after?.();
    }
    const sum = (count: (one: Measured) => number): number => seen.reduce((all, one) => all + count(one), 0);
    const slowest = seen.map(({ slowestMs }) => slowestMs.toFixed(0)).join(", ");
    const unready = Math.max(...seen.map(({ unreadyMs }) => unreadyMs)).toFixed(0);
    console.log(
      `${title}: ${sum(({ edits }) => edits)} edits, ${sum(({ failed }) => failed)} failed tries, none lost; ` +
        `slowest of each round ${slowest} ms; not ready ${unready} ms; ${sum(({ needless }) => needless.length)} needless writes`,
    );
  }
}
