/** The faults that lives meet at their effects: writes to the API server and calls that change the backend. */
import { type EffectFault, effectFaults } from "@klutch/kube-testing";
import fc from "fast-check";

/** The faults that an effect gets, one life each, by its index in the undisturbed life. `isFirst`: the first of lives that share most code. */
export type FaultsAt = (index: number, isFirst: boolean) => readonly EffectFault[];

/** Gives each effect every fault. */
export const everyFault: FaultsAt = () => effectFaults;

/** Gives each effect of the first lives every fault, and those of the others one fault each, in turn. */
export const inTurn: FaultsAt = (index, isFirst) =>
  effectFaults.filter((_, fault) => isFirst || index % effectFaults.length === fault);

/** Makes plans of up to twelve faults, by the number of the effect: from 1 to `last`. */
export function faultPlans(last: number): fc.Arbitrary<ReadonlyMap<number, EffectFault>> {
  const step = fc.integer({ min: 1, max: last }).map(String);
  return fc
    .dictionary(step, fc.constantFrom(...effectFaults), { maxKeys: 12 })
    .map((steps) => new Map(Object.entries(steps).map(([at, fault]) => [Number(at), fault])));
}
