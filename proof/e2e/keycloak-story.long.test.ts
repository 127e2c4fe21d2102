/**
 * The story of people and limits where a real Keycloak logs people in: rights, limits and a leaver, on two app clusters with konnectors. Other
 * ways in at Keycloak are in apps/backend/src/login/keycloak.long.test.ts.
 */
import { randomBytes } from "node:crypto";
import { after } from "node:test";
import { reservePorts, startKeycloak } from "@klutch/engines";
import { bindApis, oidcClientId, sandboxColleague, sandboxUser } from "@klutch/launcher";
import { backendUrlIn, cliFilesIn, startOwnSandbox } from "./own-sandbox.ts";
import { explainFailures } from "./sandbox-ends.ts";
import { peopleAndLimits } from "./scenarios/people.scenario.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const [port = 0] = stack.use(await reservePorts(1)).ports;
const keycloak = stack.use(await startKeycloak(port));
const realm = "company";
const secret = randomBytes(16).toString("hex");

const personOf = (email: string): object => ({
  username: email,
  email,
  emailVerified: true,
  enabled: true,
  firstName: "Some",
  lastName: "Body",
  credentials: [{ type: "password", value: sandboxUser.password }],
});
const users = [sandboxUser.email, sandboxColleague].map(personOf);
await keycloak.callAdmin("POST", "", { realm, enabled: true, users });
// The backend asks for it, as at Dex.
await keycloak.callAdmin("POST", `/${realm}/client-scopes`, { name: "groups", protocol: "openid-connect" });
await keycloak.callAdmin("POST", `/${realm}/clients`, {
  clientId: oidcClientId,
  secret,
  publicClient: false,
  // The sandbox chooses its port later.
  redirectUris: ["http://127.0.0.1:*"],
  defaultClientScopes: ["profile", "email"],
  optionalClientScopes: ["groups"],
});

process.env["OIDC_CLIENT_SECRET"] = secret;
const sandbox = stack.use(await startOwnSandbox("keycloak", `--issuer=${keycloak.url}/realms/${realm}`));
explainFailures(sandbox);
for (const cluster of ["appA", "appB"] as const)
  await bindApis(cliFilesIn(sandbox.folder), cluster, backendUrlIn(sandbox.printed()), [
    "postgresqlinstances",
  ]);

peopleAndLimits(sandbox);
