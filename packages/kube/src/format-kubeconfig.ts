/** Writes a kubeconfig with one cluster, one user and one context. */
import type { ClusterAuth, ClusterConfig } from "./config.ts";
import { formatYaml } from "./yaml.ts";

/** YAML text, whose one context has this name. It holds the credential in the clear: write it only to a Secret or to a file of mode 0600. */
export function formatKubeconfig(config: ClusterConfig, name = "default"): string {
  const base64 = (text: string | undefined): string | undefined =>
    text === undefined ? undefined : Buffer.from(text).toString("base64");
  return formatYaml({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name,
        cluster: {
          server: config.server,
          "certificate-authority-data": base64(config.ca),
          "tls-server-name": config.tlsServerName,
          "insecure-skip-tls-verify": config.insecureSkipTlsVerify === true ? true : undefined,
        },
      },
    ],
    users: [{ name, user: userOf(config.auth) }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: config.namespace } }],
    "current-context": name,
  });
}

function userOf(auth: ClusterAuth): Readonly<Record<string, unknown>> {
  switch (auth.kind) {
    case "none":
      return {};
    case "token":
      return { token: auth.token.reveal() };
    case "tokenFile":
      return { tokenFile: auth.path };
    case "clientCertificate":
      return {
        "client-certificate-data": Buffer.from(auth.cert).toString("base64"),
        "client-key-data": Buffer.from(auth.key.reveal()).toString("base64"),
      };
    case "basic":
      return { username: auth.username, password: auth.password.reveal() };
    case "exec":
      return {
        exec: {
          apiVersion: auth.apiVersion,
          command: auth.command,
          args: auth.args,
          interactiveMode: "Never",
        },
      };
  }
}
