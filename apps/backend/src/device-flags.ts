/** The flag of logins on another device. */
import { type Flag, FlagFault } from "@klutch/program";

/** The flag by name. */
export const deviceFlags: { readonly "oidc-device-client-id": Flag<string | undefined> } = {
  "oidc-device-client-id": {
    value: "id",
    help: "ID of a public client at the identity provider, by which people log in on another device than that of kubectl bind (RFC 8628). Default: none, and that way is closed",
    read([given]) {
      if (given === undefined || /^[\x21-\x7E]{1,200}$/.test(given)) return given;
      throw new FlagFault("must be an id of 1 to 200 visible ASCII characters, such as klutch-device");
    },
  },
};

/** Returns why this client may not be the device client; undefined if it may. */
export function deviceFault(
  values: Readonly<Record<"oidc-device-client-id" | "oidc-issuer-client-id", string | undefined>>,
): string | undefined {
  const { "oidc-device-client-id": device, "oidc-issuer-client-id": client } = values;
  if (device === undefined || device !== client) return undefined;
  return "--oidc-device-client-id must be another client than --oidc-issuer-client-id, and public: an identity provider may show the secret of a client in the browser of a person who logs in on another device";
}
