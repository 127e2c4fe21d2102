/** The composites and claims that all data services share. */
import { object, oneOf, string } from "@klutch/schema";
import { services } from "./list.ts";
import { acceptsIncomplete, type CompositeResourceDefinition, immutable, xrd } from "./xrd.ts";

/**
 * Types that bindings could always name. A binding may still name one that is not in the list of services: it is not refused, and its
 * condition says that no broker serves the type here.
 */
const typesOfOld = [
  "keyvalue",
  "postgresql",
  "mongodb",
  "search",
  "logme2",
  "prometheus",
  "messaging",
  "mariadb",
];
const instanceTypes = [...new Set([...typesOfOld, ...services.map(({ type }) => type)])];

/** Of bindings to any service. */
export const serviceBindingXrd: CompositeResourceDefinition = xrd({
  kind: "ServiceBinding",
  composition: "a9s-servicebinding",
  spec: object(
    {
      instanceRef: string({
        maxLength: 253,
        description: "Name of the instance's claim in the same namespace. It cannot be changed.",
        rules: [immutable("InstanceRef")],
      }),
      serviceInstanceType: oneOf(instanceTypes, {
        description: "Which data service the instance is. It cannot be changed.",
        rules: [immutable("ServiceInstanceType")],
      }),
    },
    { acceptsIncomplete },
    { description: "Which instance gets credentials. They come to the Secret <name>-creds." },
  ),
});
