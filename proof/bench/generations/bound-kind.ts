/** Claims of one of the two kinds between two real API servers: what their users and their provider do. */
import { specDigestAnnotation } from "@klutch/api";
import type { Random } from "@klutch/kube";
import {
  type DynamicObject,
  isRecord,
  numberAt,
  type ObjectRef,
  recordsAt,
  valueAt,
} from "@klutch/kube-core";
import { startStopwatch, type Stopwatch } from "../harness/stopwatch.ts";
import { widget } from "../harness/widget.ts";
import { within } from "../harness/within.ts";
import { type BenchWorld, mirrorOf, untilServed, workNamespace } from "../harness/world.ts";
import { providerStatus, type Treatment } from "./statuses.ts";

/** One bound kind, and watches that say when something arrived. */
export interface BoundKind {
  readonly world: BenchWorld;
  readonly treatment: Treatment;
  readonly onProvider: Stopwatch;
  readonly onConsumer: Stopwatch;
  readonly random: Random;
}

const limitMs = 60_000;
const specBytes = 2_000;

/** Binds it. The watches end with the stack. */
export async function startKind(
  world: BenchWorld,
  treatment: Treatment,
  random: Random,
  stack: AsyncDisposableStack,
): Promise<BoundKind> {
  const { kind } = treatment;
  await world.bind(kind);
  await untilServed(world, kind);
  const onProvider = stack.use(await startStopwatch(world.provider.cluster.client, kind.type));
  const onConsumer = stack.use(await startStopwatch(world.consumer.cluster.client, kind.type));
  return { world, treatment, onProvider, onConsumer, random };
}

/** A user makes a claim; resolves when it stands upstream. */
export async function create(bound: BoundKind, name: string): Promise<void> {
  const { world, treatment, random } = bound;
  const { type } = treatment.kind;
  const claim = widget(workNamespace, name, { random, bytes: specBytes }, type);
  await arriving(
    bound,
    name,
    () => true,
    () => world.consumer.api.create(type, claim),
  );
}

/** A user changes the size; resolves when that stands upstream. */
export async function edit(bound: BoundKind, name: string, size: number): Promise<void> {
  const matches = (object: DynamicObject): boolean => numberAt(object, "spec", "size") === size;
  await arriving(bound, name, matches, () => patchClaim(bound, name, { spec: { size } }));
}

/** A user changes a label; resolves when that stands upstream. */
export async function label(bound: BoundKind, name: string, team: string): Promise<void> {
  const matches = (object: DynamicObject): boolean => valueAt(object, "metadata", "labels", "team") === team;
  await arriving(bound, name, matches, () => patchClaim(bound, name, { metadata: { labels: { team } } }));
}

/** The provider says that it has looked at what its object is now; resolves when the claim shows it. `round` is to be another each time. */
export async function answer(bound: BoundKind, name: string, round: number): Promise<void> {
  const { world, onConsumer } = bound;
  const { metadata } = await upstreamOf(bound, name);
  const mark = metadata.annotations?.[specDigestAnnotation] ?? "";
  const isShown = ({ status }: DynamicObject): boolean => numberAt(status, "round") === round;
  const shown = onConsumer.seen(`${workNamespace}/${name}`, isShown);
  await patchStatus(bound, name, providerStatus(metadata.generation ?? 0, mark, round));
  await within(shown, limitMs, `status ${round} of ${name}`, world.problem);
}

/** The provider stamps what it said before with the generation of now, as Crossplane does before it has looked. */
export async function stamp(bound: BoundKind, name: string): Promise<void> {
  const { metadata, status } = await upstreamOf(bound, name);
  const { generation: observedGeneration } = metadata;
  const conditions = recordsAt(status, "conditions").map((one) => ({ ...one, observedGeneration }));
  await patchStatus(bound, name, { ...(isRecord(status) ? status : {}), observedGeneration, conditions });
}

async function arriving(
  { onProvider, world }: BoundKind,
  name: string,
  matches: (object: DynamicObject) => boolean,
  cause: () => Promise<unknown>,
): Promise<void> {
  const arrived = onProvider.seen(`${mirrorOf(workNamespace)}/${name}`, matches);
  await cause();
  await within(arrived, limitMs, `${name} to arrive`, world.problem);
}

function patchClaim({ world, treatment }: BoundKind, name: string, patch: object): Promise<unknown> {
  return world.consumer.api.patch(treatment.kind.type, { namespace: workNamespace, name }, patch);
}

function upstreamOf({ world, treatment }: BoundKind, name: string): Promise<DynamicObject> {
  return world.provider.api.get(treatment.kind.type, upstreamRef(name));
}

function patchStatus({ world, treatment }: BoundKind, name: string, status: object): Promise<unknown> {
  return world.provider.api.patch(treatment.kind.type, upstreamRef(name), { status }, "status");
}

function upstreamRef(name: string): ObjectRef {
  return { namespace: mirrorOf(workNamespace), name };
}
