/** Tests when a backend says that it has logins on another device. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@klutch/kube";
import { Secret } from "@klutch/telemetry";
import { lyingDeviceClient, startLyingDeviceFlow } from "../testing/lying-device-flow.ts";
import { lyingClientId } from "../testing/lying-identity-provider.ts";
import { deviceFault } from "./device-grant.ts";
import { IdentityProvider } from "./identity-provider.ts";

test("a backend offers such logins only with a client of its own, at an identity provider that has the flow", async () => {
  await using flow = await startLyingDeviceFlow();
  const offers = async (deviceClientId: string | undefined): Promise<boolean> => {
    const config = {
      issuer: flow.provider.issuer,
      clientId: lyingClientId,
      clientSecret: new Secret("a-client-secret-that-is-long-enough"),
      callbackUrl: "http://127.0.0.1:1/callback",
      authorizeUrl: undefined,
      deviceClientId,
    };
    const provider = new IdentityProvider(config, systemClock);
    assert.equal(provider.offersDevice, false, "before its metadata are known");
    await provider.probe();
    if (deviceClientId === undefined)
      await assert.rejects(provider.beginDevice(), /offers no login on another device/);
    return provider.offersDevice;
  };
  assert.deepEqual([await offers(lyingDeviceClient), await offers(undefined)], [true, false]);
  flow.provider.describe({});
  assert.equal(await offers(lyingDeviceClient), false);
  flow.provider.describe({ device_authorization_endpoint: "http://idp.example.org/device" });
  assert.equal(await offers(lyingDeviceClient), false);
});

test("an endpoint that is missing, no text or could be listened to is a fault with words", () => {
  const faultOf = (endpoint: unknown): string | undefined =>
    deviceFault({ device_authorization_endpoint: endpoint });
  assert.equal(faultOf("https://idp.example.org/device"), undefined);
  for (const none of [undefined, null, 7, ["https://idp.example.org"]])
    assert.equal(faultOf(none), "its metadata have no device_authorization_endpoint");
  assert.match(faultOf("http://idp.example.org/device") ?? "", /must start with https/);
  assert.match(faultOf("javascript:alert(1)") ?? "", /must start with https/);
});
