/** The claimed resources of one provider: one reconciler for each resource, whatever number of APIs claim it. */
import { isBuiltInGroup } from "@klutch/api";
import { jsonHash, keyOfRef, type ObjectRef, type ResourceType } from "@klutch/kube-core";
import type { ReadYourWritesCache } from "@klutch/kube-runtime";
import { type CompiledPermissionClaim, compilePermissionClaim } from "@klutch/sync";
import { asBinding } from "../../decode.ts";
import { Running } from "../../lifecycle.ts";
import type { ProviderParts } from "../service-namespace/provider-parts.ts";
import { claimedResourceKey, type ClaimedType, type HonouredClaim } from "./claimed-type.ts";
import { ClaimedResourceReconciler } from "./reconciler.ts";
import type { SecretCauses } from "./secret-causes.ts";
import { TakenNames } from "./taken-names.ts";

/** Values that the reconcilers share. */
export interface ClaimedResourcesOptions extends ProviderParts {
  /** All bindings of the app cluster: the Secrets that they name stay there. */
  readonly bindings: ReadYourWritesCache;
  /** The names of Secrets that are taken. */
  readonly takenSecrets: TakenNames;
  /** Traces of the claims that Secrets belong to. */
  readonly secretCauses: SecretCauses;
}

interface AcceptedClaims {
  readonly claims: readonly HonouredClaim[];
  readonly clusterWide: boolean;
}

interface Wanted {
  readonly type: ClaimedType;
  readonly permissionClaims: readonly CompiledPermissionClaim[];
  readonly clusterWide: boolean;
}

interface RunningResource {
  readonly signature: string;
  readonly reconciler: Running<ClaimedResourceReconciler>;
}

/** Starts and ends reconcilers as claims are accepted and withdrawn. Not for concurrent use. */
export class ClaimedResources implements AsyncDisposable {
  readonly #options: ClaimedResourcesOptions;
  /** By API. */
  readonly #accepted = new Map<string, AcceptedClaims>();
  /** By claimed resource. */
  readonly #running = new Map<string, RunningResource>();

  constructor(options: ClaimedResourcesOptions) {
    this.#options = options;
  }

  /** Takes over the claims of one API as they are accepted now; earlier ones of it that are not among them end. */
  async accept(api: string, claims: readonly HonouredClaim[], clusterWide: boolean): Promise<void> {
    this.#accepted.set(api, { claims, clusterWide });
    await this.#adjust();
  }

  /** The API is no longer bound. */
  async withdraw(api: string): Promise<void> {
    if (this.#accepted.delete(api)) await this.#adjust();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#accepted.clear();
    await this.#adjust();
  }

  async #adjust(): Promise<void> {
    const wanted = this.#wanted();
    for (const [key, { signature, reconciler }] of this.#running) {
      const next = wanted.get(key);
      if (next !== undefined && jsonHash(next) === signature) continue;
      this.#running.delete(key);
      await reconciler[Symbol.asyncDispose]();
    }
    for (const [key, next] of wanted) {
      if (this.#running.has(key)) continue;
      const reconciler = new Running(this.#createReconciler(next));
      this.#running.set(key, { signature: jsonHash(next), reconciler });
    }
  }

  #createReconciler({ type, permissionClaims, clusterWide }: Wanted): ClaimedResourceReconciler {
    const isPrivate = (ref: ObjectRef): boolean => isSecret(type) && this.#isKubeconfig(ref);
    return new ClaimedResourceReconciler({
      ...this.#options,
      type,
      permissionClaims,
      clusterWide,
      isPrivate,
      taken: isSecret(type) ? this.#options.takenSecrets : new TakenNames(),
      causes: isSecret(type) ? this.#options.secretCauses : undefined,
    });
  }

  /** Returns true if the Secret holds a provider's kubeconfig, of this provider or another. */
  #isKubeconfig(ref: ObjectRef): boolean {
    const key = keyOfRef(ref);
    return [...this.#options.bindings.informer.list()].some(
      (object) => keyOfRef(asBinding(object).spec.kubeconfigSecretRef) === key,
    );
  }

  #wanted(): ReadonlyMap<string, Wanted> {
    const wanted = new Map<string, Wanted>();
    for (const { claims, clusterWide } of this.#accepted.values()) {
      for (const { claim, type } of claims) {
        const key = claimedResourceKey(claim);
        const previous = wanted.get(key);
        wanted.set(key, {
          type,
          permissionClaims: [...(previous?.permissionClaims ?? []), compilePermissionClaim(claim)],
          // A provider gives rights on kinds of Kubernetes itself in service namespaces only, whatever the scope.
          clusterWide: (clusterWide && !isBuiltInGroup(type.group)) || previous?.clusterWide === true,
        });
      }
    }
    return wanted;
  }
}

const isSecret = ({ group, plural }: ResourceType): boolean => group === "" && plural === "secrets";
