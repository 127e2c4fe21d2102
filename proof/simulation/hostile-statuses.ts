/** Lies about generations as a hostile provider: past and future numbers, echoes of other marks, and malformed conditions. */
import { specObservedCondition, specObservedReason } from "@klutch/api";
import { numberAt, recordAt } from "@klutch/kube-core";
import type { KubeClient, Random } from "@klutch/kube";
import type { ApiServerModel } from "@klutch/kube-testing";
import { databases, zones } from "./apis.ts";
import { patchObject, pick } from "./deeds.ts";
import { objectsOf } from "./snapshot.ts";

/** The provider whose objects get false statuses. */
interface Liar {
  readonly client: KubeClient;
  readonly provider: ApiServerModel;
  readonly random: Random;
}

/** Lies in the status of one object and describes the lie. Throws when the server refuses it. */
export async function lieAboutWork({ client, provider, random }: Liar): Promise<string> {
  const { type } = pick(random, [databases, zones]);
  const { metadata, status } = pick(random, objectsOf(provider, type));
  const { generation = 0, annotations } = metadata;
  const numbers = [generation, generation - 1, generation + 1, generation + 1_000, -1, undefined, null];
  const marks = [...Object.values(annotations ?? {}), "0000000000000000", ""];
  const said = (about: string, reason: string): object => ({
    type: about,
    status: pick(random, ["True", "True", "False", "Unknown"]),
    reason,
    lastTransitionTime: "2026-01-01T00:00:00Z",
    observedGeneration: pick(random, numbers),
  });
  const echo = said(specObservedCondition, specObservedReason(pick(random, marks)));
  const words = said("klutch.anynines.com/Ready", "Said");
  const conditions = pick<unknown>(random, [
    [said("Ready", "Available"), echo],
    [said("Ready", "Available"), words, echo],
    [{ ...said("Ready", "Avail\u202eable"), message: "up\u001b[2J\r" }, echo],
    [words],
    Array.from({ length: 10_000 }, (_, index) => said(`Type${index}`, "Many")),
    "Ready",
    null,
    [null, 7, {}],
  ]);
  const observedGeneration = pick<unknown>(random, [
    ...numbers,
    numberAt(recordAt(status), "observedGeneration"),
    "1",
  ]);
  const patch = { status: { observedGeneration, conditions } };
  const place = await patchObject(client, type, { metadata }, patch);
  return `lies about ${place}: ${JSON.stringify(patch).slice(0, 160)}`;
}
