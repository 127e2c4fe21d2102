/** Prints the page of supported versions: versions that tests really run with, from the pins that they are obtained by. */
import { klutchVersion } from "@klutch/api";
import { type EngineName, engineDefinition, keycloakVersion } from "@klutch/engines";
import { table } from "./table.ts";

const intro = `# Support

Klutch ${klutchVersion}. *Tried* is what every run of the tests starts for real, in this version. *Should work* follows from the interfaces that are used; nobody
has tried it here. Anything older is refused with a message, or works without the part that is named.
`;

const after = `## Platforms
| what | tried | made, not run here |
|---|---|---|
| servers | Linux, amd64 | Linux, arm64 |
| \`kubectl-bind\` and \`klutch\` | Linux, amd64 | Linux arm64; macOS and Windows, amd64 and arm64 |

## Versions of Klutch among each other
Konnector, backend and plugin may be one minor version apart, in both directions. Of the Go implementation 1.5 works with each of our parts, with
the differences in [compatibility](reference/compatibility.md). The wire contract is [versioned](reference/processes.md#versions).

Security fixes are made for the newest minor version. How to report a problem: [SECURITY.md](../SECURITY.md).
`;

/** Returns the page in Markdown. */
export function supportPage(): string {
  const version = (name: EngineName): string => engineDefinition(name).version;
  const rows = [
    [
      "Kubernetes, control plane and app cluster",
      version("kube-apiserver"),
      "1.30 and newer. Before 1.30 there are no ValidatingAdmissionPolicies behind our accounts, and definitions whose rules name a number are refused",
    ],
    ["etcd", version("etcd"), "what Kubernetes takes"],
    ["Crossplane", version("crossplane"), "2.0 and newer; older ones refuse the packages"],
    ["Helm", version("helm"), "3.14 and newer"],
    ["provider-kubernetes (a8s only)", version("provider-kubernetes"), "1.2 and newer"],
    ["Dex", version("dex"), "any that does OpenID Connect discovery"],
    ["Keycloak", keycloakVersion, "any that is maintained"],
    ["Open Service Broker API", "2.17", "brokers that take 2.13 or newer"],
    [
      "PostgreSQL, MariaDB, Redis",
      "15, 10.11, 7",
      "for the sandbox's broker only; yours makes what it likes",
    ],
    ["Node, for the npm packages and bundles", "26", "24 and newer. Images and executables bring theirs"],
  ];
  return [intro, ...table(["what", "tried", "should work"], rows), after].join("\n");
}
