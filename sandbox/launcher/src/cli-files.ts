/** Words the report that the sandbox prints once it is up, and writes the files for users of the sandbox: commands in one folder to put on PATH, a kubeconfig for each cluster, claims to apply. */
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ownProgram, resolveEngine } from "@klutch/engines";
import { namespaceObject, roleBindingObject, serviceAccountObject } from "@klutch/kube-testing";
import { accountKubeconfig, type AdminCluster, type CliFiles, type ClusterName } from "./context.ts";
import { demoClaim, demoFiles, demoNamespace } from "./demo/claims.ts";
import { applyAll } from "./objects.ts";
import { sandboxUser } from "./services/dex.ts";

/** Writes them into `folder`, and kubectl into `bin`. */
export async function writeCliFiles(
  folder: string,
  clusters: Readonly<Record<ClusterName, { readonly kubeconfig: string }>>,
  bin: string,
): Promise<CliFiles> {
  await mkdir(bin, { recursive: true });
  await link(await resolveEngine("kubectl"), join(bin, "kubectl"));
  for (const [name, text] of Object.entries(demoFiles)) await writeFile(join(folder, name), text);
  const write = async (name: string, { kubeconfig }: { readonly kubeconfig: string }): Promise<string> => {
    const path = join(folder, `${name}.kubeconfig`);
    await writeFile(path, kubeconfig, { mode: 0o600 });
    return path;
  };
  const kubeconfigs = {
    controlPlane: await write("control-plane", clusters.controlPlane),
    appA: await write("app-a", clusters.appA),
    appB: await write("app-b", clusters.appB),
  };
  return { bin, kubeconfigs };
}

/** Writes `kubectl-bind` and `klutch` of this checkout into `bin`. */
export async function writeOwnCommands(folder: string, bin: string): Promise<void> {
  // The program tells its two names apart by the path it was started with.
  const links = join(folder, "cli");
  await mkdir(links, { recursive: true });
  for (const name of ["kubectl-bind", "klutch"]) {
    await link(ownProgram("cli"), join(links, name));
    const script = `#!/bin/sh\nexec "${process.execPath}" "${join(links, name)}" "$@"\n`;
    await writeFile(join(bin, name), script, { mode: 0o755 });
  }
}

/**
 * Writes the kubeconfig of an ordinary developer: an account with the role `edit` of namespace demo, which covers bound APIs there, and with no
 * other rights. Returns its path.
 */
export async function writeDeveloper(cluster: AdminCluster, folder: string): Promise<string> {
  const account = { namespace: demoNamespace, name: "developer" };
  const role = roleBindingObject(account, { kind: "ClusterRole", name: "edit" }, account);
  await applyAll(cluster.client, [namespaceObject(demoNamespace), serviceAccountObject(account), role]);
  return accountKubeconfig(cluster, account, folder);
}

async function link(target: string, path: string): Promise<void> {
  await rm(path, { force: true });
  await symlink(target, path);
}

/** Addresses and paths of the sandbox. */
export interface Whereabouts {
  readonly folder: string;
  readonly clusters: Readonly<Record<ClusterName, AdminCluster>>;
  readonly cli: CliFiles;
  /** Kubeconfig of the developer in app cluster A. */
  readonly developer: string;
  /** Ports with metrics; undefined where Pods serve them. */
  readonly ports?: Readonly<Record<string, number>> | undefined;
  readonly backendUrl: string;
  /** URL of the console; undefined where the backend serves none. */
  readonly consoleUrl?: string | undefined;
  readonly issuer: string;
  /** False if people log in at an identity provider that is not the sandbox's. */
  readonly hasDex: boolean;
  /** File with the authority of the backend's certificate; undefined when it has none. */
  readonly authorities?: string | undefined;
  /** False if there was no demo, whose database app cluster B keeps. */
  readonly hasDatabase: boolean;
  /** Last sentence, which tells how the sandbox ends. */
  readonly next: string;
}

/** Returns the text. */
export function report(where: Whereabouts): string {
  const { folder, clusters, cli, backendUrl, authorities, hasDatabase, ports } = where;
  const { controlPlane, appA, appB } = cli.kubeconfigs;
  const trusted = authorities === undefined ? "" : `\n  export NODE_EXTRA_CA_CERTS="${authorities}"`;
  const [instance, binding] = [demoClaim("postgresql", "instance"), demoClaim("postgresql", "binding")];
  const files = ["namespace.yaml", instance.file, binding.file].map((file) => `-f ${join(folder, file)}`);
  const obtain = `
  kubectl bind ${backendUrl}/export    # log in, choose postgresqlinstances
  kubectl bind ${backendUrl}/export    # log in, choose servicebindings
  kubectl apply ${files.join(" ")}`;
  const pages = where.consoleUrl === undefined ? "" : `\n  console              ${where.consoleUrl}`;
  const login = where.hasDex ? `   (user ${sandboxUser.email}, password ${sandboxUser.password})` : "";
  return `
Klutch is up.

  binding page         ${backendUrl}/export${login}${pages}
  identity provider    ${where.issuer}
  control plane        ${clusters.controlPlane.config.server}   ${controlPlane}
  app cluster A        ${clusters.appA.config.server}   ${appA}
  app cluster B        ${clusters.appB.config.server}   ${appB}
  developer            may edit in namespace ${demoNamespace} of app cluster A, and nothing else   ${where.developer}
  logs and data        ${folder}${ports === undefined ? "" : metricsIn(ports)}

Try next, in another terminal:

  export PATH="${cli.bin}:$PATH"${trusted}
  export KUBECONFIG="${appB}"${hasDatabase ? "" : obtain}
  kubectl get claim -A                 # databases and credentials of app cluster B, with their states
  kubectl wait servicebindings --all --for=condition=Ready -n demo --timeout=5m
  kubectl get secret ${binding.ref.name}-creds -n demo -o jsonpath='{.data.uri}' | base64 -d    # for psql
  klutch doctor
  KUBECONFIG="${controlPlane}" kubectl get managed

${where.next}
`;
}

/** Returns a line for each server with metrics. Konnectors start when their app cluster is bound. */
function metricsIn(ports: Readonly<Record<string, number>>): string {
  const names = Object.keys(ports).filter(
    (name) => /Probe$| konnector-/.test(name) && !name.startsWith("cross"),
  );
  const line = (name: string): string =>
    `\n  metrics              http://127.0.0.1:${ports[name]}/metrics   ${name.replace("Probe", "")}`;
  return names.map(line).join("");
}
