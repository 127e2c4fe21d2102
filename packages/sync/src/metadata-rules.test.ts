import assert from "node:assert/strict";
import { test } from "node:test";
import { adoptedContent } from "./adoption.ts";
import { travellingContent } from "./content.ts";
import { defaultMetadataRule, mayReachConsumer } from "./metadata-rules.ts";
import { consumerWidget, providerWidget } from "./testing/objects.ts";

/** The labels and annotations that each tool puts on an object that it applies, and those with which people steer it. */
const tools = {
  "Argo CD": {
    labels: { "app.kubernetes.io/instance": "shop", "argocd.argoproj.io/instance": "shop" },
    annotations: {
      "argocd.argoproj.io/tracking-id": "shop:anynines.com/PostgresqlInstance:app/db",
      "argocd.argoproj.io/installation-id": "one",
      "argocd.argoproj.io/sync-options": "Prune=false",
      "argocd.argoproj.io/sync-wave": "1",
      "argocd.argoproj.io/compare-options": "IgnoreExtraneous",
      "argocd.argoproj.io/hook": "PreSync",
      "argocd.argoproj.io/hook-delete-policy": "HookSucceeded",
      "argocd-image-updater.argoproj.io/image-list": "shop=example.org/shop",
      "link.argocd.argoproj.io/external-link": "https://example.org",
      "notifications.argoproj.io/subscribe.on-sync-failed.slack": "team",
    },
  },
  Flux: {
    labels: {
      "kustomize.toolkit.fluxcd.io/name": "apps",
      "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
      "helm.toolkit.fluxcd.io/name": "shop",
      "helm.toolkit.fluxcd.io/namespace": "app",
      "fluxcd.controlplane.io/name": "flux",
      "fluxcd.controlplane.io/namespace": "flux-system",
    },
    annotations: {
      "kustomize.toolkit.fluxcd.io/checksum": "0123",
      "kustomize.toolkit.fluxcd.io/force": "enabled",
      "kustomize.toolkit.fluxcd.io/reconcile": "disabled",
      "kustomize.toolkit.fluxcd.io/prune": "disabled",
      "kustomize.toolkit.fluxcd.io/ssa": "merge",
      "helm.toolkit.fluxcd.io/driftDetection": "disabled",
      "reconcile.fluxcd.io/requestedAt": "2026-01-01T00:00:00Z",
      "fluxcd.io/sync-checksum": "0123",
    },
  },
  Helm: {
    labels: { "app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": "shop-1.0.0" },
    annotations: {
      "meta.helm.sh/release-name": "shop",
      "meta.helm.sh/release-namespace": "app",
      "helm.sh/resource-policy": "keep",
      "helm.sh/hook": "pre-install",
      "helm.sh/hook-weight": "1",
      "helm.sh/hook-delete-policy": "hook-succeeded",
    },
  },
  kubectl: {
    labels: { "applyset.kubernetes.io/part-of": "applyset-0123-v1" },
    annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}" },
  },
  "an inventory": {
    labels: {
      "cli-utils.sigs.k8s.io/inventory-id": "0123",
      "configmanagement.gke.io/managed-by": "x",
      "kapp.k14s.io/app": "1",
      "kapp.k14s.io/association": "v1.0123",
      "objectset.rio.cattle.io/hash": "0123",
      "fleet.cattle.io/bundle-id": "shop",
    },
    annotations: {
      "config.k8s.io/owning-inventory": "0123",
      "config.kubernetes.io/depends-on": "/namespaces/app/ConfigMap/x",
      "configsync.gke.io/resource-id": "_configmap_app_x",
      "objectset.rio.cattle.io/id": "one",
    },
  },
};

for (const [tool, { labels, annotations }] of Object.entries(tools)) {
  test(`what ${tool} knows its objects by does not go to the provider, and does not come from there`, () => {
    const own = { labels: { team: "red" }, annotations: { "example.org/note": "x" } };
    const metadata = {
      labels: { ...own.labels, ...labels },
      annotations: { ...own.annotations, ...annotations },
    };
    const sent = travellingContent(consumerWidget({}, metadata), defaultMetadataRule).metadata;
    assert.deepEqual(sent.labels, own.labels);
    assert.deepEqual(Object.keys(sent.annotations ?? {}), ["example.org/note", "klutch.anynines.com/bound"]);
    const target = { namespace: "app", name: "w" };
    const brought = adoptedContent(providerWidget({}, metadata), target, defaultMetadataRule).metadata;
    const keys = [...Object.keys(brought.labels ?? {}), ...Object.keys(brought.annotations ?? {})];
    const theirs = new Set([...Object.keys(labels), ...Object.keys(annotations)]);
    assert.deepEqual(
      keys.filter((key) => theirs.has(key)),
      [],
    );
  });
}

test("of the keys without a domain those cross that name an application; others steer programs, and cross by a pattern only", () => {
  const crossing = (keys: readonly string[], patterns?: readonly string[]): readonly string[] =>
    keys.filter((key) => mayReachConsumer(key, patterns));
  const steering = ["grafana_dashboard", "grafana_datasource", "owner", "k8s-sidecar-target-directory"];
  assert.deepEqual(crossing(steering), []);
  assert.deepEqual(crossing(steering, ["grafana_*"]), ["grafana_dashboard", "grafana_datasource"]);
  const known = ["app", "team", "tier", "service-binding", "app.kubernetes.io/name", "klutch.io/note"];
  assert.deepEqual(crossing(known), known);
  assert.deepEqual(crossing(["argocd.argoproj.io/secret-type", "kubernetes.io/x"], ["*"]), []);
});
