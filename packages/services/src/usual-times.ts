/** How long operations usually take. Only words follow from it: nothing is ended or tried again because of it. */

/** In milliseconds. What is not named is not said. */
export interface UsualTimes {
  readonly create?: number | undefined;
  readonly change?: number | undefined;
  readonly delete?: number | undefined;
}

const minute = 60_000;

/** By kind of managed resource, where the Composition says nothing else. */
export const usualTimes: Readonly<Record<string, UsualTimes>> = {
  ServiceInstance: { create: 15 * minute, change: 30 * minute, delete: 10 * minute },
  ServiceBinding: { create: minute, delete: 3 * minute },
  Backup: { create: 15 * minute, delete: 10 * minute },
  Restore: { create: 5 * minute, delete: 10 * minute },
};
