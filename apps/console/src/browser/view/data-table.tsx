/**
 * Shows rows of any collection as a grid (https://www.w3.org/WAI/ARIA/apg/patterns/grid/): only the rows in sight are in the document, and
 * `aria-rowcount` and `aria-rowindex` tell of the others. One row is in the Tab order; arrow keys, Page Up and Down, Home and End move it,
 * Enter opens it.
 *
 * react-aria-components' own table is not used: it builds a node for each cell of each row before it shows the first one, which took
 * four seconds with 10,000 rows of eight cells, with its Virtualizer, too.
 */
import {
  type CSSProperties,
  type KeyboardEvent,
  memo,
  type ReactElement,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { parseSort } from "./order.ts";
import type { Column } from "./page.ts";

interface DataTableProps<R extends { readonly id: string }> {
  readonly label: string;
  readonly rows: readonly R[];
  readonly columns: readonly Column<R>[];
  /** Pixels. */
  readonly rowHeight: number;
  /** Id of the row whose panel is open. */
  readonly open: string | undefined;
  readonly sort: string | undefined;
  readonly onSort: (sort: string) => void;
  readonly onOpen: (id: string) => void;
}

const headingHeight = 40;
/** Rows beyond each edge of what is in sight. */
const spare = 8;

/** Sorts and filters nothing itself: `rows` are shown in their order. */
export function DataTable<R extends { readonly id: string }>(props: DataTableProps<R>): ReactElement {
  const { label, rows, columns, rowHeight, open, sort, onSort, onOpen } = props;
  const grid = useRef<HTMLDivElement>(null);
  const { first, last } = useWindow(grid, rows.length, rowHeight);
  const [active, setActive] = useState<string>();
  const wantsFocus = useRef(false);
  const wanted = rows.findIndex(({ id }) => id === active);
  const activeIndex = wanted < 0 ? first : wanted;

  useEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    const element = grid.current?.querySelector('[role="row"][tabindex="0"]');
    if (element instanceof HTMLElement) element.focus({ preventScroll: true });
  });

  const move = (index: number): void => {
    const target = Math.max(0, Math.min(rows.length - 1, index));
    const element = grid.current;
    if (element === null) return;
    const top = target * rowHeight;
    const room = element.clientHeight - headingHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowHeight > element.scrollTop + room) element.scrollTop = top + rowHeight - room;
    wantsFocus.current = true;
    setActive(rows[target]?.id);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(((grid.current?.clientHeight ?? 0) - headingHeight) / rowHeight) - 1);
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: activeIndex + 1,
      ArrowUp: activeIndex - 1,
      PageDown: activeIndex + page,
      PageUp: activeIndex - page,
      Home: 0,
      End: rows.length - 1,
    };
    const target = steps[event.key];
    const row = rows[activeIndex];
    if (target !== undefined) move(target);
    else if ((event.key === "Enter" || event.key === " ") && row !== undefined) onOpen(row.id);
    else return;
    event.preventDefault();
  };

  const template = columns.map(({ share = 1 }) => `minmax(0, ${share}fr)`).join(" ");
  const shown = indexes(first, last, activeIndex, rows.length);
  return (
    <div ref={grid} className="table" role="grid" aria-label={label} aria-rowcount={rows.length + 1}>
      <div role="rowgroup" className="headings">
        <div role="row" aria-rowindex={1} style={{ gridTemplateColumns: template, height: headingHeight }}>
          {columns.map((column) => (
            <Heading key={column.id} column={column} sort={sort} onSort={onSort} />
          ))}
        </div>
      </div>
      <div role="rowgroup" className="rows" style={{ height: rows.length * rowHeight }} onKeyDown={onKeyDown}>
        {shown.map((index) => {
          const row = rows[index];
          if (row === undefined) return undefined;
          return (
            <GridRow
              key={row.id}
              row={row}
              columns={columns}
              template={template}
              index={index}
              height={rowHeight}
              isOpen={row.id === open}
              isActive={index === activeIndex}
              onActive={setActive}
              onOpen={onOpen}
            />
          );
        })}
      </div>
    </div>
  );
}

interface HeadingProps<R> {
  readonly column: Column<R>;
  readonly sort: string | undefined;
  readonly onSort: (sort: string) => void;
}

function Heading<R>({ column: { id, title, numeric }, sort, onSort }: HeadingProps<R>): ReactElement {
  const { id: sorted, descending } = parseSort(sort);
  const direction = descending ? "descending" : "ascending";
  const next = sorted === id && !descending ? `-${id}` : id;
  return (
    <div
      role="columnheader"
      className={numeric === true ? "column numeric" : "column"}
      {...(sorted === id && { "aria-sort": direction })}
    >
      <button type="button" onClick={() => onSort(next)}>
        {title}
      </button>
    </div>
  );
}

interface GridRowProps<R extends { readonly id: string }> {
  readonly row: R;
  readonly columns: readonly Column<R>[];
  readonly template: string;
  readonly index: number;
  readonly height: number;
  readonly isOpen: boolean;
  readonly isActive: boolean;
  readonly onActive: (id: string) => void;
  readonly onOpen: (id: string) => void;
}

function PlainRow<R extends { readonly id: string }>(props: GridRowProps<R>): ReactElement {
  const { row, columns, template, index, height, isOpen, isActive, onActive, onOpen } = props;
  const style: CSSProperties = { gridTemplateColumns: template, height, top: index * height };
  return (
    <div
      role="row"
      className="row"
      data-id={row.id}
      aria-rowindex={index + 2}
      aria-selected={isOpen}
      tabIndex={isActive ? 0 : -1}
      style={style}
      onFocus={() => onActive(row.id)}
      onClick={() => onOpen(row.id)}
    >
      {columns.map((column, place) => (
        <div
          key={column.id}
          role={place === 0 ? "rowheader" : "gridcell"}
          className={column.numeric === true ? "cell numeric" : "cell"}
        >
          <CellContent column={column} row={row} />
        </div>
      ))}
    </div>
  );
}

/** Scrolling renders only the rows that come into sight; a change, only the rows that changed. Handlers are the same for all rows. */
const GridRow = memo(
  PlainRow,
  (before, after) =>
    before.row === after.row &&
    before.columns === after.columns &&
    before.index === after.index &&
    before.height === after.height &&
    before.isOpen === after.isOpen &&
    before.isActive === after.isActive &&
    before.onOpen === after.onOpen,
) as typeof PlainRow;

function CellContent<R>(props: { readonly column: Column<R>; readonly row: R }): ReactElement {
  const { column, row } = props;
  if (column.show !== undefined) return <>{column.show(row)}</>;
  const text = String(column.value(row) ?? "");
  return text === "" ? <span className="soft">–</span> : <span title={text}>{text}</span>;
}

/** Rows in sight and some beside them. The active row is always there, so that it keeps the focus while it is out of sight. */
function indexes(first: number, last: number, active: number, count: number): readonly number[] {
  const found: number[] = [];
  if (active < first) found.push(active);
  for (let index = first; index <= last && index < count; index++) found.push(index);
  if (active > last && active < count) found.push(active);
  return found;
}

/** Follows scrolling and size of the grid. */
function useWindow(
  grid: RefObject<HTMLDivElement | null>,
  count: number,
  rowHeight: number,
): { readonly first: number; readonly last: number } {
  const [seen, setSeen] = useState({ top: 0, height: 800 });
  useLayoutEffect(() => {
    const element = grid.current;
    if (element === null) return undefined;
    // Whole rows, so that scrolling within one renders nothing.
    const measure = (): void => {
      const top = Math.floor(element.scrollTop / rowHeight);
      const height = element.clientHeight;
      setSeen((old) => (old.top === top && old.height === height ? old : { top, height }));
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    measure();
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, [grid, rowHeight]);
  const first = Math.max(0, Math.min(seen.top, count - 1) - spare);
  const last = Math.min(count - 1, seen.top + Math.ceil(seen.height / rowHeight) + spare);
  return { first, last };
}
