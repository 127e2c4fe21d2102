/** One page: heading, count, search, rows or what stands in their place, and the panel of the open row. */
import type { Collection, RowOf } from "@klutch/overview/console-wire";
import { type ReactElement, useCallback, useDeferredValue, useMemo } from "react";
import { Button } from "react-aria-components/Button";
import { Input } from "react-aria-components/Input";
import { Label } from "react-aria-components/Label";
import { SearchField } from "react-aria-components/SearchField";
import { useRows, useStore } from "../live/hooks.ts";
import { amend, go, type Route } from "../live/route.ts";
import { pages } from "../pages/pages.ts";
import { DataTable } from "../view/data-table.tsx";
import { useIsPhone } from "../view/media.ts";
import { filterRows, sortRows } from "../view/order.ts";
import type { Page } from "../view/page.ts";
import { Failed, Loading, Note } from "../view/states.tsx";
import { collator, formatNumber } from "../view/words.tsx";
import { Panel } from "./panel.tsx";

interface CollectionPageProps<C extends Collection> {
  readonly collection: C;
  readonly route: Route;
}

export function CollectionPage<C extends Collection>(props: CollectionPageProps<C>): ReactElement {
  const { collection, route } = props;
  const page: Page<RowOf[C]> = pages[collection];
  const { state, rows, words } = useRows(collection);
  const store = useStore();
  const isPhone = useIsPhone();
  const query = useDeferredValue(route.query);
  const sort = route.sort ?? page.sort;
  const isOpen = route.row !== undefined;
  const columns = useMemo(
    () => page.columns.filter(({ phone, wide }) => (isPhone ? phone === true : !isOpen || wide !== true)),
    [page, isPhone, isOpen],
  );
  const shown = useMemo(() => {
    const found = filterRows(rows, page.columns, query);
    return sortRows(found, page.columns, sort, (a, b) => collator.compare(a, b));
  }, [rows, page, query, sort]);
  const open = rows.find(({ id }) => id === route.row);
  const openRow = useCallback((row: string) => go({ ...route, row }), [route]);
  const close = (): void => {
    const { row } = route;
    go({ ...route, row: undefined });
    if (row !== undefined) focusRow(row);
  };
  return (
    <>
      <main inert={isPhone && open !== undefined}>
        <div className="top">
          <h1>{page.title}</h1>
          <p className="count" role="status">
            {state === "ready" && countOf(shown.length, rows.length, page.noun)}
          </p>
          <SearchField
            className="search"
            value={route.query}
            onChange={(text) => amend({ ...route, query: text })}
          >
            <Label className="hidden">Search {page.noun[1]}</Label>
            <Input placeholder="Search" />
            <Button className="clear">
              <span aria-hidden="true">×</span>
            </Button>
          </SearchField>
        </div>
        {state === "loading" && <Loading what={page.noun[1]} />}
        {state === "failed" && words !== undefined && (
          <Failed words={words} onRetry={() => store.retry(collection)} />
        )}
        {state === "ready" && rows.length === 0 && (
          <Note title={page.empty.title} sign={page.empty.sign}>
            <p>{page.empty.text}</p>
          </Note>
        )}
        {state === "ready" && rows.length > 0 && shown.length === 0 && (
          <Note
            title={`No ${page.noun[0]} matches “${query}”.`}
            sign="○"
            action={<Button onPress={() => amend({ ...route, query: "" })}>Show all</Button>}
          />
        )}
        {state === "ready" && shown.length > 0 && (
          <DataTable
            label={page.title}
            rows={shown}
            columns={columns}
            rowHeight={page.rowHeight ?? 44}
            open={route.row}
            sort={sort}
            onSort={(next) => amend({ ...route, sort: next })}
            onOpen={openRow}
          />
        )}
      </main>
      {open !== undefined && <Panel key={open.id} page={page} row={open} onClose={close} />}
      {open === undefined && route.row !== undefined && state === "ready" && (
        <p className="gone" role="status">
          The row that this address names is gone, or you may not see it.
          <Button onPress={() => go({ ...route, row: undefined })}>Close</Button>
        </p>
      )}
    </>
  );
}

function countOf(shown: number, all: number, [one, several]: Page<never>["noun"]): string {
  const noun = all === 1 ? one : several;
  if (shown === all) return `${formatNumber(all)} ${noun}`;
  return `${formatNumber(shown)} of ${formatNumber(all)} ${noun}`;
}

/** Gives the focus back to the row that the panel was opened from, if it is still in the document. */
function focusRow(id: string): void {
  requestAnimationFrame(() => {
    const row = document.querySelector(`[role=row][data-id="${CSS.escape(id)}"]`);
    const target = row ?? document.querySelector("[role=row][tabindex='0']");
    if (target instanceof HTMLElement) target.focus();
  });
}
