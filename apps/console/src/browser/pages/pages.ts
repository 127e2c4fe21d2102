/** All pages by their collection. */
import type { Collection, RowOf } from "@klutch/overview/console-wire";
import type { Page } from "../view/page.ts";
import { clusters, offers } from "./clusters.tsx";
import { instances } from "./instances.tsx";
import { konnectors } from "./konnectors.tsx";
import { audit, cost, grants, members } from "./people.tsx";
import { problems } from "./problems.tsx";

export const pages: { readonly [C in Collection]: Page<RowOf[C]> } = {
  problems,
  offers,
  clusters,
  konnectors,
  instances,
  members,
  grants,
  audit,
  cost,
};
