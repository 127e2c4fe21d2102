/** The real S3 controller of AWS (ACK) as a process: an operator of another project, which makes buckets in an emulator. */
import { dirname, join } from "node:path";
import { inheritedEnvironment, reservePorts, resolveEngine, startProcess } from "@klutch/engines";
import type { KubeClient } from "@klutch/kube";
import type { ResourceType } from "@klutch/kube-core";
import { installKinds, manifestsIn } from "./install.ts";
import { makeOperatorFolder } from "./operator-folder.ts";

/** Options of `startS3Controller`. */
export interface S3ControllerOptions {
  /** A client of the administrator. */
  readonly client: KubeClient;
  /** Kubeconfig that it works with, as YAML. */
  readonly kubeconfig: string;
  /** Folder for its files, which exists. */
  readonly folder: string;
  /** URL that answers for AWS. */
  readonly endpoint: string;
}

/** The kind that its users make. */
export const buckets: ResourceType = {
  group: "s3.services.k8s.aws",
  version: "v1alpha1",
  plural: "buckets",
  kind: "Bucket",
  namespaced: true,
};

/**
 * Installs its kinds and starts it with the flags that docs/operators.md names. It looks again after failures every half minute, and at each bucket every
 * ten hours. Disposing it stops the process; the kinds stay.
 */
export async function startS3Controller(options: S3ControllerOptions): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const { ports } = stack.use(await reservePorts(2));
  const program = await resolveEngine("s3-controller");
  const crds = join(dirname(program), "config", "crd");
  for (const path of [join(crds, "bases"), join(crds, "common", "bases")])
    await installKinds(options.client, await manifestsIn(path));
  const { kubeconfig, logFile } = await makeOperatorFolder(
    options.folder,
    "s3-controller",
    options.kubeconfig,
  );
  const probe = `127.0.0.1:${ports[1]}`;
  stack.use(
    await startProcess({
      name: "s3-controller",
      command: program,
      args: [
        "--aws-region=us-east-1",
        `--aws-endpoint-url=${options.endpoint}`,
        `--aws-identity-endpoint-url=${options.endpoint}`,
        "--allow-unsafe-aws-endpoint-urls",
        "--enable-adopted-resource-reconciler=false",
        "--enable-field-export-reconciler=false",
        "--feature-gates=ResourceAdoption=false",
        `--metrics-addr=127.0.0.1:${ports[0]}`,
        `--healthz-addr=${probe}`,
      ],
      env: {
        ...withoutOwnAccount(),
        KUBECONFIG: kubeconfig,
        AWS_ACCESS_KEY_ID: "of-the-emulator",
        AWS_SECRET_ACCESS_KEY: "of-the-emulator",
        AWS_EC2_METADATA_DISABLED: "true",
      },
      logFile,
      ready: async () => (await fetch(`http://${probe}/readyz`)).ok,
    }),
  );
  return stack.move();
}

/** Empties what the environment says of an account in the real AWS. The controller takes an empty variable for none. */
function withoutOwnAccount(): Readonly<Record<string, string>> {
  const names = Object.keys(inheritedEnvironment).filter((name) => name.startsWith("AWS_"));
  return Object.fromEntries(names.map((name) => [name, ""]));
}
