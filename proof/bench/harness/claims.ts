/** Claims of one kind between the two clusters: what people and the provider do with them, and how soon the other side shows it. */
import { type DynamicObject, keyOfRef, numberAt } from "@klutch/kube-core";
import type { Random } from "@klutch/kube";
import { inParallel } from "./api.ts";
import { type Stopwatch, startStopwatch, within } from "./stopwatch.ts";
import { widget, type WidgetContents, widgets } from "./widget.ts";
import { type BenchFixture, createNamespaces, mirrorOf, workNamespace } from "./fixture.ts";

/** One claim: its reference in the app cluster and the keys of both objects. */
export interface ClaimRef {
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
  readonly upstream: { readonly namespace: string; readonly name: string };
  readonly upstreamKey: string;
}

/** Returns a reference with its keys. */
export function claimRef(name: string, namespace: string = workNamespace): ClaimRef {
  const upstream = { namespace: mirrorOf(namespace), name };
  return { namespace, name, key: `${namespace}/${name}`, upstream, upstreamKey: keyOfRef(upstream) };
}

/** Returns `count` references of the work namespace whose names begin with the word. */
export function numberedRefs(word: string, count: number): ClaimRef[] {
  return Array.from({ length: count }, (_, index) => claimRef(`${word}-${index}`));
}

/** Makes namespaces that `count` claims are spread over, and returns the claims' references, namespace by namespace. */
export async function spreadRefs({ consumer }: BenchFixture, count: number): Promise<readonly ClaimRef[]> {
  const names = Array.from({ length: Math.min(namespaceCount, count) }, (_, index) => `team-${index}`);
  await createNamespaces(consumer.api, names);
  const each = Math.ceil(count / Math.max(1, names.length));
  return Array.from({ length: count }, (_, index) =>
    claimRef(`claim-${index}`, names[Math.floor(index / each)]),
  );
}

/** Chooses any one of a list that is not empty. */
export function anyOf<T>(list: readonly T[], random: Random): T {
  const item = list[Math.floor(random() * list.length)];
  if (item === undefined) throw new Error("nothing to choose from");
  return item;
}

/** Says which claims are made. */
export interface ClaimsOptions {
  readonly contents: WidgetContents;
  /** Limits the wait for the other side. Default a minute. */
  readonly limitMs?: number;
}

const namespaceCount = 20;
const hasStatus = ({ status }: DynamicObject): boolean => status !== undefined;

/** Does things to claims; each resolves to the milliseconds until the other side shows it. */
export class Claims implements AsyncDisposable {
  readonly fixture: BenchFixture;
  readonly contents: WidgetContents;
  readonly onProvider: Stopwatch;
  /** Begins when the first status or deletion is awaited: a benchmark that needs none does not pay for the watch. */
  #onConsumer: Promise<Stopwatch> | undefined;
  readonly #limitMs: number;

  private constructor(fixture: BenchFixture, onProvider: Stopwatch, options: ClaimsOptions) {
    this.fixture = fixture;
    this.onProvider = onProvider;
    this.contents = options.contents;
    this.#limitMs = options.limitMs ?? 60_000;
  }

  /** Begins to watch the provider. */
  static async watch(fixture: BenchFixture, options: ClaimsOptions): Promise<Claims> {
    const onProvider = await startStopwatch(fixture.provider.cluster.client, widgets);
    return new Claims(fixture, onProvider, options);
  }

  /** A person makes a claim; it arrives upstream. */
  create(ref: ClaimRef): Promise<number> {
    const claim = widget(ref, this.contents);
    const arrived = this.onProvider.seen(ref.upstreamKey);
    return this.#timed(`${ref.name} to arrive`, arrived, () =>
      this.fixture.consumer.api.create(widgets, claim),
    );
  }

  /** A person changes a claim's size; that arrives upstream. */
  resize(ref: ClaimRef, size: number): Promise<number> {
    const arrived = this.onProvider.seen(ref.upstreamKey, ({ spec }) => numberAt(spec, "size") === size);
    return this.#timed(`the edit of ${ref.name} to arrive`, arrived, () =>
      this.fixture.consumer.api.patch(widgets, ref, { spec: { size } }),
    );
  }

  /** The provider reports the first status of a claim; it comes back. */
  async report(ref: ClaimRef, status: object): Promise<number> {
    const returned = (await this.onConsumer()).seen(ref.key, hasStatus);
    return this.#timed(`the status of ${ref.name}`, returned, () =>
      this.fixture.provider.api.patch(widgets, ref.upstream, { status }, "status"),
    );
  }

  /** A person deletes a claim; both objects go. */
  async remove(ref: ClaimRef): Promise<number> {
    const gone = [this.onProvider.gone(ref.upstreamKey), (await this.onConsumer()).gone(ref.key)];
    const both = Promise.all(gone).then((times) => Math.max(...times));
    return this.#timed(`${ref.name} to go`, both, () => this.fixture.consumer.api.delete(widgets, ref));
  }

  /** Returns the watch of the app cluster. */
  onConsumer(): Promise<Stopwatch> {
    this.#onConsumer ??= startStopwatch(this.fixture.consumer.cluster.client, widgets);
    return this.#onConsumer;
  }

  /** Makes claims as fast as the app cluster takes them, and waits for none; contents are made on the way. */
  async send(refs: readonly ClaimRef[]): Promise<void> {
    await inParallel(refs, (ref) => this.fixture.consumer.api.create(widgets, widget(ref, this.contents)));
  }

  /** Does the same, and waits until all have arrived. */
  async sendAll(refs: readonly ClaimRef[]): Promise<void> {
    const arrivals = Promise.all(refs.map(({ upstreamKey }) => this.onProvider.seen(upstreamKey)));
    await this.#timed(
      "claims to arrive",
      arrivals.then(() => 0),
      () => this.send(refs),
    );
  }

  /** Shows that claims pass through: one is made, arrives and is deleted again on both sides. */
  async canary(): Promise<void> {
    const ref = claimRef("canary");
    await this.create(ref);
    await this.remove(ref);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.onProvider[Symbol.asyncDispose]();
    await (await this.#onConsumer)?.[Symbol.asyncDispose]();
  }

  async #timed(what: string, shown: Promise<number>, cause: () => Promise<unknown>): Promise<number> {
    const startedAt = performance.now();
    await cause();
    return (await within(shown, this.#limitMs, what, this.fixture.problem)) - startedAt;
  }
}
