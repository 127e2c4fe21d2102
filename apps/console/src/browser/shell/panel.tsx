/** Shows one row beside the table; on a phone, in its place. Escape closes it. */
import { type ReactElement, useEffect, useId, useRef } from "react";
import { Button } from "react-aria-components/Button";
import type { Page } from "../view/page.ts";

interface PanelProps<R> {
  readonly page: Page<R>;
  readonly row: R;
  readonly onClose: () => void;
}

export function Panel<R>({ page, row, onClose }: PanelProps<R>): ReactElement {
  const heading = useRef<HTMLHeadingElement>(null);
  const id = useId();
  useEffect(() => heading.current?.focus(), []);
  return (
    <aside
      className="panel"
      aria-labelledby={id}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
      }}
    >
      <div className="panel-top">
        <h2 id={id} ref={heading} tabIndex={-1}>
          {page.heading(row)}
        </h2>
        <Button className="close" aria-label="Close" onPress={onClose}>
          <span aria-hidden="true">×</span>
        </Button>
      </div>
      {page.more?.(row)}
      <dl>
        {page.details(row).map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </aside>
  );
}
