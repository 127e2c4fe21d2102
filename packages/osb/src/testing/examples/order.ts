import { createOsbClient, pollOperation } from "@klutch/osb";

/** Orders a database in the smallest way, and gives its credentials. */
export async function order(url: string, password: string): Promise<Readonly<Record<string, unknown>>> {
  await using broker = createOsbClient({ url, auth: { kind: "basic", username: "u", password } });
  const { services } = await broker.catalog();
  const [service] = services;
  const [plan] = service?.plans ?? [];
  if (service === undefined || plan === undefined) throw new Error("the broker offers nothing");

  // The identifiers are yours: the same call once more means the same instance.
  const instance = { instanceId: crypto.randomUUID(), serviceId: service.id, planId: plan.id };
  const outcome = await broker.provision(
    { ...instance, organizationGuid: "org", spaceGuid: "space" },
    { identity: { platform: "kubernetes", value: { username: "jane" } } },
  );
  if (outcome.kind === "accepted") {
    const request = { ...instance, operation: outcome.operation };
    const maximumPollingSeconds = plan.maximumPollingDuration;
    const end = await pollOperation(broker, request, { deletes: false, maximumPollingSeconds });
    if (end.kind !== "succeeded") throw new Error("it was not provisioned");
  }
  const binding = { ...instance, bindingId: crypto.randomUUID() };
  const bound = await broker.bind(binding);
  if (bound.kind === "done") return bound.credentials;
  await pollOperation(broker, { ...binding, operation: bound.operation }, { deletes: false });
  const { credentials = {} } = await broker.fetchBinding(binding.instanceId, binding.bindingId);
  return credentials;
}
