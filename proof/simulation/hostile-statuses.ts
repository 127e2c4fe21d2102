/** What a hostile provider says of generations: numbers of the past and of the future, echoes of other marks, and conditions that are none. */
import { specObservedCondition, specObservedReason } from "@klutch/api";
import { numberAt, recordAt } from "@klutch/kube-core";
import type { KubeClient, Random } from "@klutch/kube";
import type { ApiServerModel } from "@klutch/kube-testing";
import { databases, zones } from "./apis.ts";
import { objectsOf } from "./snapshot.ts";

/** Whose objects it lies about. */
interface Liar {
  readonly client: KubeClient;
  readonly provider: ApiServerModel;
  readonly random: Random;
}

/** Lies in the status of one object; says what. What the server refuses throws. */
export async function lieAboutWork({ client, provider, random }: Liar): Promise<string> {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const { type } = pick([databases, zones]);
  const { metadata, status } = pick(objectsOf(provider, type));
  const { namespace, name = "", generation = 0, annotations } = metadata;
  const numbers = [generation, generation - 1, generation + 1, generation + 1_000, -1, undefined, null];
  const marks = [...Object.values(annotations ?? {}), "0000000000000000", ""];
  const said = (about: string, reason: string): object => ({
    type: about,
    status: pick(["True", "True", "False", "Unknown"]),
    reason,
    lastTransitionTime: "2026-01-01T00:00:00Z",
    observedGeneration: pick(numbers),
  });
  const echo = said(specObservedCondition, specObservedReason(pick(marks)));
  const words = said("klutch.anynines.com/Ready", "Said");
  const conditions = pick<unknown>([
    [said("Ready", "Available"), echo],
    [said("Ready", "Available"), words, echo],
    [words],
    Array.from({ length: 10_000 }, (_, index) => said(`Type${index}`, "Many")),
    "Ready",
    null,
    [null, 7, {}],
  ]);
  const observedGeneration = pick<unknown>([
    ...numbers,
    numberAt(recordAt(status), "observedGeneration"),
    "1",
  ]);
  const ref = namespace === undefined ? { name } : { namespace, name };
  const patch = { status: { observedGeneration, conditions } };
  await client.mergePatch(type, ref, patch, { subresource: "status" });
  return `lies about ${type.plural} ${namespace ?? ""}/${name}: ${JSON.stringify(patch).slice(0, 160)}`;
}
