/** Claims of one of the two kinds between two real API servers: what their users and their provider do. */
import { specDigestAnnotation } from "@klutch/api";
import type { Random } from "@klutch/kube";
import { isRecord, numberAt, recordsAt, valueAt } from "@klutch/kube-core";
import { claimRef, Claims } from "../harness/claims.ts";
import { type BenchFixture, untilServed } from "../harness/fixture.ts";
import { providerStatus, type Treatment } from "./statuses.ts";

/** Lets something happen to the claim of a name; resolves when the other side shows it. */
export type Deed = (claims: Claims, name: string) => Promise<unknown>;

const specBytes = 2_000;

/** Binds a kind. */
export async function bindTreatment(
  fixture: BenchFixture,
  { kind }: Treatment,
  random: Random,
): Promise<Claims> {
  await fixture.bind(kind);
  await untilServed(fixture, kind);
  return Claims.watch(fixture, { contents: { random, bytes: specBytes }, type: kind.type });
}

/** A user makes a claim. */
export const create: Deed = (claims, name) => claims.create(claimRef(name));

/** A user changes the size. */
export function edit(size: number): Deed {
  return (claims, name) => claims.resize(claimRef(name), size);
}

/** A user changes a label. */
export function label(team: string): Deed {
  return (claims, name) =>
    claims.edit(
      claimRef(name),
      { metadata: { labels: { team } } },
      (upstream) => valueAt(upstream, "metadata", "labels", "team") === team,
    );
}

/** The provider reports that it has looked at its present object. `round` must differ each time. */
export function answer(round: number): Deed {
  return async (claims, name) => {
    const ref = claimRef(name);
    const { metadata } = await claims.fixture.provider.api.get(claims.type, ref.upstream);
    const mark = metadata.annotations?.[specDigestAnnotation] ?? "";
    const status = providerStatus(metadata.generation ?? 0, mark, round);
    return claims.report(ref, status, (claim) => numberAt(claim.status, "round") === round);
  };
}

/** The provider stamps its earlier status with the present generation, as Crossplane does before it has looked. Does not wait. */
export const stamp: Deed = async ({ fixture, type }, name) => {
  const { upstream } = claimRef(name);
  const { metadata, status } = await fixture.provider.api.get(type, upstream);
  const { generation: observedGeneration } = metadata;
  const conditions = recordsAt(status, "conditions").map((one) => ({ ...one, observedGeneration }));
  const stamped = { ...(isRecord(status) ? status : {}), observedGeneration, conditions };
  await fixture.provider.api.patch(type, upstream, { status: stamped }, "status");
};
