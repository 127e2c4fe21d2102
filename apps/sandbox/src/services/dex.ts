/** Dex as identity provider, with one user. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { resolveEngine } from "@klutch/engines";
import { formatYaml } from "@klutch/kube";
import { keepProcess } from "../supervise.ts";
import type { SandboxBase } from "../context.ts";

/** The sandbox's only user. The password guards nothing but this machine's loopback. */
export const sandboxUser = { email: "developer@example.com", password: "password" } as const;
/** bcrypt of the password above. */
const passwordHash = "$2a$10$2b2cU8CPhOTaGrs1HRQuAueS7JTT5ZHsHSzYiFPm1leZck7Mc8T4W";

/** Client id of the backend. */
export const oidcClientId = "klutch-backend";

/** Starts Dex; gives back its issuer. */
export async function startDex(context: SandboxBase): Promise<string> {
  const { state } = context;
  const folder = join(state.folder, "dex");
  await mkdir(folder, { recursive: true });
  const issuer = `http://127.0.0.1:${state.ports.dex}/dex`;
  const config = {
    issuer,
    storage: { type: "memory" },
    web: { http: `127.0.0.1:${state.ports.dex}` },
    oauth2: { skipApprovalScreen: true },
    enablePasswordDB: true,
    staticClients: [
      {
        id: oidcClientId,
        name: "Klutch",
        secret: state.secrets.oidcClientSecret,
        redirectURIs: [`http://127.0.0.1:${state.ports.backend}/callback`],
      },
    ],
    staticPasswords: [
      {
        email: sandboxUser.email,
        hash: passwordHash,
        username: "developer",
        userID: "a3c9f5e2-0f0b-4c43-9f62-0c1f3b3f7d10",
      },
    ],
  };
  await writeFile(join(folder, "config.yaml"), formatYaml(config), { mode: 0o600 });
  await keepProcess(context, {
    name: "dex",
    command: await resolveEngine("dex"),
    args: ["serve", join(folder, "config.yaml")],
    logFile: join(folder, "dex.log"),
    ready: async () => (await fetch(`${issuer}/.well-known/openid-configuration`)).ok,
  });
  return issuer;
}
