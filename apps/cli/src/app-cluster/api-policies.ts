/** Admission policies that Klutch writes in an app cluster, one for each API: compared with what they should be, and removed. */
import type { ApiPolicy } from "@klutch/api";
import { discoverResource } from "@klutch/kube";
import { contains, type DynamicObject, type ResourceType } from "@klutch/kube-core";
import type { Consumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";

/** One sort of such policies. */
export interface ApiPolicies {
  /** The kinds of the policy and of its binding. */
  readonly types: readonly [policies: ResourceType, bindings: ResourceType];
  readonly policy: ApiPolicy;
}

/** Returns true if the cluster serves such policies. */
export async function servesPolicies(
  { types: [policies] }: ApiPolicies,
  { client }: Consumer,
  signal: AbortSignal,
): Promise<boolean> {
  return (await discoverResource(client, policies, { signal })) !== undefined;
}

/** Returns the APIs that have a policy or a policy binding of Klutch, and whether both are as Klutch writes them; undefined if the cluster serves none. */
export async function policiesIn(
  policies: ApiPolicies,
  consumer: Consumer,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, boolean> | undefined> {
  const { policy } = policies;
  if (!(await servesPolicies(policies, consumer, signal))) return undefined;
  const found = await Promise.all(
    policies.types.map((type) => Array.fromAsync(consumer.client.listAll<DynamicObject>(type, { signal }))),
  );
  const apis = new Set(found.flat().flatMap((object) => policy.apiOf(object) ?? []));
  const isRight = (api: string): boolean =>
    policy
      .manifestsOf(api)
      .every((wanted, index) =>
        contains(
          found[index]?.find(({ metadata }) => metadata.name === wanted.metadata.name)?.spec,
          wanted["spec"],
        ),
      );
  return new Map([...apis].map((api) => [api, isRight(api)]));
}

/** Deletes the policies of all APIs, or of one, as far as they exist. */
export async function liftPolicies(
  policies: ApiPolicies,
  { signal, terminal }: CliContext,
  consumer: Consumer,
  only?: string,
): Promise<void> {
  const [type, bindingType] = policies.types;
  for (const api of (await policiesIn(policies, consumer, signal))?.keys() ?? []) {
    if (only !== undefined && api !== only) continue;
    const name = policies.policy.nameOf(api);
    await consumer.client.delete(bindingType, { name }, { signal });
    await consumer.client.delete(type, { name }, { signal });
    terminal.say(`Deleted ${type.kind} ${name}.`);
  }
}
