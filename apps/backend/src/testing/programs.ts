/** Programs that the identity provider of the tests gives access tokens by client credentials. */
import type { ClientMetadata, ResourceServer } from "oidc-provider";

/** Client ids; the secret of each is the id with `-secret`. */
export const programs = ["tenant-a", "tenant-b", "tenant-c"] as const;

/** The scope that the backend wants by default, and another one. */
export const programScopes = "klutch/bind shop/read";

const tokensFor = "https://tokens.example.org";

/** The clients as the provider knows them. */
export const programClients: readonly ClientMetadata[] = programs.map((id) => ({
  client_id: id,
  client_secret: secretOf(id),
  grant_types: ["client_credentials"],
  redirect_uris: [],
  response_types: [],
}));

/** Features of the provider: access tokens of programs are JWTs with this audience; those of people stay opaque. */
export function programFeatures(audience: string): {
  readonly clientCredentials: { readonly enabled: true };
  readonly resourceIndicators: object;
} {
  const server: ResourceServer = { scope: programScopes, audience, accessTokenFormat: "jwt" };
  return {
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: (_context: unknown, { clientId }: { readonly clientId: string }) =>
        programClients.some(({ client_id: id }) => id === clientId) ? tokensFor : undefined,
      getResourceServerInfo: () => server,
    },
  };
}

/** Asks for a token as golang.org/x/oauth2 does: a form, the client by HTTP Basic. */
export async function accessTokenOf(
  issuer: string,
  id: (typeof programs)[number],
  scope = "klutch/bind",
): Promise<string> {
  const response = await fetch(`${issuer}/token`, {
    method: "POST",
    headers: { authorization: `Basic ${Buffer.from(`${id}:${secretOf(id)}`).toString("base64")}` },
    body: new URLSearchParams({ grant_type: "client_credentials", scope }),
  });
  const { access_token: token } = (await response.json()) as { readonly access_token?: string };
  if (token === undefined) throw new Error(`no access token for ${id}: ${response.status}`);
  return token;
}

function secretOf(id: string): string {
  return `${id}-secret`;
}
