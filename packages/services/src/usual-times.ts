/** Lists the usual durations of operations. Only messages use them: nothing is ended or retried because of them. */

/** Durations in milliseconds. An absent one is not mentioned. */
export interface UsualTimes {
  readonly create?: number | undefined;
  readonly change?: number | undefined;
  readonly delete?: number | undefined;
}

const minute = 60_000;

/** Defaults by kind of managed resource, unless the Composition says otherwise. */
export const usualTimes: Readonly<Record<string, UsualTimes>> = {
  ServiceInstance: { create: 15 * minute, change: 30 * minute, delete: 10 * minute },
  ServiceBinding: { create: minute, delete: 3 * minute },
  Backup: { create: 15 * minute, delete: 10 * minute },
  Restore: { create: 5 * minute, delete: 10 * minute },
};
