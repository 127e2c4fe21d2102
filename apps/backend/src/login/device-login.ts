/** A login on another device that binds APIs (`device-flow.ts`): its offer is for exactly the APIs of the plugin's wish, because no page asks the person. */
import { deviceGrant, type DeviceLoginRequest, readWish, wishText } from "@klutch/api";
import type { Clock } from "@klutch/kube";
import { type Audit, recordRefusal, silentAudit } from "../audit/audit.ts";
import type { AllowedOffers } from "../authorization/allowed-offers.ts";
import { type KnownGroups, withFittingGroups } from "../authorization/fitting-groups.ts";
import type { Person } from "../identity.ts";
import type { Confirmation } from "../provisioning/confirmation.ts";
import type { TenantIdentity } from "../provisioning/tenant.ts";
import type { Sealer } from "../sealed-cookie.ts";
import { apisOfWish } from "./device-apis.ts";
import { createDeviceFlow, type DeviceFlow } from "./device-flow.ts";
import type { IdentityProvider } from "./identity-provider.ts";

/** Parts of the logins. */
export interface DeviceLoginParts {
  readonly identityProvider: Pick<IdentityProvider, "beginDevice" | "pollDevice">;
  readonly offers: Pick<AllowedOffers, "visible" | "unavailable">;
  readonly confirmation: Pick<Confirmation, "offer">;
  /** Throws `UserError` for a person who may not bind at all. */
  readonly admit: (identity: TenantIdentity) => void;
  /** Default: nothing is recorded. */
  readonly audit?: Audit | undefined;
  readonly knownGroups: KnownGroups;
  readonly handles: Sealer;
  readonly clock: Clock;
}

/** Creates them for one replica. */
export function createDeviceLogins(parts: DeviceLoginParts): DeviceFlow<DeviceLoginRequest> {
  const { identityProvider, offers, confirmation, admit, knownGroups, handles, clock } = parts;
  const { audit = silentAudit } = parts;
  return createDeviceFlow<DeviceLoginRequest>({
    identityProvider,
    handles,
    clock,
    again: "Start again with kubectl bind --device.",
    textsOf({ sessionId, clusterId, clusterName = "", answerKey, clusterKey, wish }) {
      return { sessionId, clusterId, clusterName, answerKey, clusterKey, wish: wishText(wish) };
    },
    requestOf: (text) => ({
      sessionId: text("sessionId"),
      clusterId: text("clusterId"),
      clusterName: text("clusterName") || undefined,
      answerKey: text("answerKey"),
      clusterKey: text("clusterKey"),
      wish: readWish(text("wish")),
    }),
    offerTo,
  });

  async function offerTo(
    person: Person,
    request: DeviceLoginRequest,
    address: string | undefined,
  ): Promise<string> {
    const { sessionId, clusterId, clusterName, answerKey, clusterKey: offeredKey, wish } = request;
    const asker = { ...person, clusterName, way: "device", address } as const;
    const { fitting, apis } = await recordRefusal(audit, { decision: "bind", asker }, async () => {
      admit({ ...person, clusterId });
      const allowed = await withFittingGroups(person, knownGroups);
      return { fitting: allowed, apis: await apisOfWish(offers, allowed, wish) };
    });
    const login = { sessionId, clusterId, clusterName, redirectUrl: deviceGrant, answerKey, offeredKey };
    return confirmation.offer({ ...fitting, ...login, address }, apis);
  }
}
