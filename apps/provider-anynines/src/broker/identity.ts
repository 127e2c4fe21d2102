/** Who is named at the broker as the one who asks (OSB 2.17 "Originating Identity"), for its records and its own rules. */
import { ExternalError, type Managed } from "@klutch/crossplane";
import { isRecord, refOf } from "@klutch/kube-core";
import { type OriginatingIdentity, withIdentity } from "@klutch/osb";
import { claimKeys } from "../claims/names.ts";
import type { Broker } from "./brokers.ts";

/** As a managed resource names it; it counts when both are there. */
interface NamedIdentity {
  readonly platform?: string | undefined;
  readonly value?: string | undefined;
}

/** A managed resource of either kind. */
type Asking = Managed & {
  readonly spec: { readonly forProvider: { readonly originatingIdentity?: NamedIdentity | undefined } };
};

/** The broker, which is told with every call about `managed` who asks. Throws `ExternalError` for what no header can carry. */
export function brokerFor(broker: Broker, managed: Asking): Broker {
  const identity = identityOf(managed);
  if (identity === undefined) return broker;
  // The catalog is the same for everybody, and shared.
  return { osb: withIdentity(broker.osb, identity), catalog: (options) => broker.catalog(options) };
}

/** What the spec says; without that the claim, in the form that Kubernetes gives to users; undefined for what has no claim. */
export function identityOf(managed: Asking): OriginatingIdentity | undefined {
  const { platform, value } = managed.spec.forProvider.originatingIdentity ?? {};
  if (platform === undefined || value === undefined) return claimIdentity(managed);
  if (/^[\x21-\x7e]{1,100}$/.test(platform)) return { platform, value: objectOf(value) };
  // What was once accepted must not stand in the way of a deletion.
  if (managed.metadata.deletionTimestamp !== undefined) return claimIdentity(managed);
  throw new ExternalError(
    `spec.forProvider.originatingIdentity.platform is ${JSON.stringify(platform.slice(0, 100))}; ` +
      `it must have 1 to 100 visible ASCII characters without spaces, such as kubernetes`,
  );
}

function claimIdentity(managed: Managed): OriginatingIdentity | undefined {
  const [key] = claimKeys(managed);
  if (key === undefined) return undefined;
  const { namespace = "", name } = refOf(key);
  return {
    platform: "kubernetes",
    value: {
      username: `klutch:claim:${namespace}:${name}`,
      uid: managed.metadata.uid ?? "",
      groups: [`klutch:claims:${namespace}`],
      extra: {},
    },
  };
}

/** The specification wants an object; a plain text is the name of a user. */
function objectOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (isRecord(value)) return value;
  } catch {
    // Not JSON, so it is the name.
  }
  return { username: text };
}
