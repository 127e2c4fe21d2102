/** A realm in a Keycloak of the tests, made and changed by its Admin REST API. */
import { randomUUID } from "node:crypto";
import type { KeycloakServer } from "@klutch/engines";
import { isRecord } from "@klutch/kube-core";
import { oidcClient } from "./login-fixture.ts";

/** A user of the realm; both are members of a nested group. */
export interface RealmUser {
  readonly id: string;
  readonly username: string;
  readonly password: string;
}

/** Has a role that contains roles that contain roles. */
export const developer: RealmUser = {
  id: randomUUID(),
  username: "developer",
  password: "a-password-of-the-tests",
};
/** A user with more roles than fit into a header of usual servers. */
export const manager: RealmUser = { id: randomUUID(), username: "manager", password: "another-of-the-tests" };

/** Actions for the tests. */
export interface Realm {
  readonly issuer: string;
  /** An ID token without a browser. */
  readonly idToken: (user: RealmUser) => Promise<string>;
  /** A new signing key takes the place of the present one, which is removed. */
  readonly rotateKey: () => Promise<void>;
  /** Makes the client of a program, and returns what asks for its access tokens. */
  readonly addProgram: (id: string) => Promise<() => Promise<string>>;
  /** Makes a client scope of this name; with an audience, its tokens name that client, too. */
  readonly addScope: (scope: string, audience: string | undefined) => Promise<void>;
}

const name = "klutch";
/** Public client of the realm for logins on another device. */
export const realmDeviceClient = "klutch-device";
const manyRoles = Array.from({ length: 300 }, (_, index) => `manages-the-databases-of-team-${index}`);

/** Makes the realm with one client, whose ID tokens name roles and groups, and with both users. */
export async function createRealm(keycloak: KeycloakServer, redirectUri: string): Promise<Realm> {
  const issuer = `${keycloak.url}/realms/${name}`;
  await keycloak.callAdmin("POST", "", representation(redirectUri));
  const signingKeys = `/${name}/components?type=org.keycloak.keys.KeyProvider`;
  return {
    issuer,
    async idToken({ username, password }) {
      const { id, secret } = oidcClient;
      const client = { client_id: id, client_secret: secret, scope: "openid" };
      return textOf(
        await keycloak.requestToken(name, { ...client, grant_type: "password", username, password }),
        "id_token",
      );
    },
    async rotateKey() {
      const present = await keycloak.callAdmin("GET", signingKeys);
      const providers = (Array.isArray(present) ? present : [])
        .filter(isRecord)
        .filter(({ providerId }) => providerId === "rsa-generated");
      await keycloak.callAdmin("POST", `/${name}/components`, {
        name: `rsa-${randomUUID()}`,
        providerId: "rsa-generated",
        providerType: "org.keycloak.keys.KeyProvider",
        config: { priority: ["200"], enabled: ["true"], active: ["true"], algorithm: ["RS256"] },
      });
      for (const provider of providers)
        await keycloak.callAdmin("DELETE", `/${name}/components/${textOf(provider, "id")}`);
    },
    async addScope(scope, audience) {
      const mapper = {
        name: "audience",
        protocol: "openid-connect",
        protocolMapper: "oidc-audience-mapper",
        config: { "included.client.audience": audience, "access.token.claim": "true" },
      };
      await keycloak.callAdmin("POST", `/${name}/client-scopes`, {
        name: scope,
        protocol: "openid-connect",
        attributes: { "include.in.token.scope": "true" },
        protocolMappers: audience === undefined ? [] : [mapper],
      });
    },
    async addProgram(id) {
      const scopes = await keycloak.callAdmin("GET", `/${name}/client-scopes`);
      const own = (Array.isArray(scopes) ? scopes : [])
        .map((scope) => textOf(scope, "name"))
        .filter((scope) => scope.startsWith("klutch/"));
      await keycloak.callAdmin("POST", `/${name}/clients`, {
        clientId: id,
        secret: `${id}-secret`,
        publicClient: false,
        standardFlowEnabled: false,
        serviceAccountsEnabled: true,
        optionalClientScopes: own,
      });
      return async () => {
        const client = { client_id: id, client_secret: `${id}-secret`, grant_type: "client_credentials" };
        const scope = own.length === 0 ? {} : { scope: own.join(" ") };
        return textOf(await keycloak.requestToken(name, { ...client, ...scope }), "access_token");
      };
    },
  };
}

function representation(redirectUri: string): unknown {
  const mapper = (protocolMapper: string, claim: string): unknown => ({
    name: claim,
    protocol: "openid-connect",
    protocolMapper,
    config: {
      "claim.name": claim,
      "id.token.claim": "true",
      "jsonType.label": "String",
      multivalued: "true",
      "full.path": "true",
    },
  });
  return {
    realm: name,
    enabled: true,
    roles: {
      realm: [
        ...["reads", ...manyRoles].map((role) => ({ name: role })),
        { name: "writes", composite: true, composites: { realm: ["reads"] } },
        { name: "owns", composite: true, composites: { realm: ["writes"] } },
        { name: "manages-all", composite: true, composites: { realm: ["owns", ...manyRoles] } },
      ],
    },
    groups: [
      {
        name: "company",
        subGroups: [{ name: "platform", subGroups: [{ name: "databases", realmRoles: ["owns"] }] }],
      },
    ],
    clients: [
      {
        clientId: oidcClient.id,
        secret: oidcClient.secret,
        publicClient: false,
        redirectUris: [redirectUri],
        standardFlowEnabled: true,
        directAccessGrantsEnabled: true,
        attributes: { "backchannel.logout.url": new URL("backchannel-logout", redirectUri).href },
        protocolMappers: [
          mapper("oidc-usermodel-realm-role-mapper", "roles"),
          mapper("oidc-group-membership-mapper", "groups"),
        ],
      },
      {
        clientId: realmDeviceClient,
        publicClient: true,
        standardFlowEnabled: false,
        directAccessGrantsEnabled: false,
        attributes: { "oauth2.device.authorization.grant.enabled": "true" },
      },
    ],
    users: [userOf(developer, ["owns"]), userOf(manager, ["manages-all"])],
  };
}

function userOf({ id, username, password }: RealmUser, realmRoles: readonly string[]): unknown {
  return {
    id,
    username,
    enabled: true,
    // Without them a page asks for them at the first login.
    email: `${username}@example.org`,
    emailVerified: true,
    firstName: "Some",
    lastName: "Body",
    credentials: [{ type: "password", value: password }],
    realmRoles,
    groups: ["/company/platform/databases"],
  };
}

function textOf(value: unknown, field: string): string {
  const text = isRecord(value) ? value[field] : undefined;
  if (typeof text !== "string") throw new Error(`Keycloak sent no ${field}`);
  return text;
}
