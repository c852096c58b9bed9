/** A list of which only the rows in sight exist, so that it may have millions of them. */
import { html, useEffect, useLayoutEffect, useRef, useState } from "./framework.js";

/** As high as every browser can make an element; a longer list is scrolled in proportion. */
const HIGHEST = 8_000_000;
const ROWS_BEYOND = 8;

/**
 * `renderRow(index)` makes a row of `rowHeight` pixels. With `follow` the end stays in sight as the list grows;
 * `onAtEnd` is told whether it is, of a list that followed only if somebody has scrolled up.
 * `handle.current.show(index)` brings a row into sight. Further attributes are those of the scrolled element.
 */
export function VirtualList({ count, rowHeight, renderRow, handle, follow, onAtEnd, class: name = "", ...attributes }) {
  const element = useRef(null);
  const [view, setView] = useState({ top: 0, height: 0 });
  const whole = count * rowHeight;
  const scrolled = Math.min(whole, HIGHEST);
  const scale = whole > HIGHEST ? (whole - view.height) / (HIGHEST - view.height) : 1;
  const top = Math.max(0, Math.min(view.top, whole - view.height));

  const moveTo = (wanted) => {
    const target = Math.max(0, Math.min(wanted, whole - view.height));
    setView((old) => ({ ...old, top: target }));
    element.current.scrollTop = target / scale;
  };
  const current = useRef(null);
  current.current = { top, scale, moveTo };
  if (handle) handle.current = { show: (index) => bringIntoSight(index, rowHeight, view.height, current.current) };

  useLayoutEffect(() => {
    const measure = () => setView((old) => ({ ...old, height: element.current.clientHeight }));
    const observer = new ResizeObserver(measure);
    observer.observe(element.current);
    measure();
    return () => observer.disconnect();
  }, []);

  // In a list that is scrolled in proportion a turn of the wheel would skip rows.
  useEffect(() => {
    const turn = (event) => {
      if (current.current.scale === 1 || event.ctrlKey) return;
      event.preventDefault();
      current.current.moveTo(current.current.top + event.deltaY);
    };
    const list = element.current;
    list.addEventListener("wheel", turn, { passive: false });
    return () => list.removeEventListener("wheel", turn);
  }, []);

  /** Where following has put it last: the event of that comes later, when the list may have grown. */
  const followed = useRef(0);
  useLayoutEffect(() => {
    if (!follow) return;
    element.current.scrollTop = scrolled;
    followed.current = element.current.scrollTop;
    setView((old) => ({ ...old, top: Math.max(0, whole - old.height) }));
  }, [follow, count, view.height]);

  const scroll = () => {
    if (!element.current) return; // the list was taken away while the event was on its way
    const { scrollTop, clientHeight } = element.current;
    if (Math.abs(scrollTop - top / scale) >= 1) setView((old) => ({ ...old, top: scrollTop * scale }));
    const isAtEnd = scrollTop + clientHeight >= scrolled - rowHeight;
    if (isAtEnd || !follow || scrollTop < followed.current - 1) onAtEnd?.(isAtEnd);
  };

  const first = Math.max(0, Math.floor(top / rowHeight) - ROWS_BEYOND);
  const last = Math.min(count, Math.ceil((top + view.height) / rowHeight) + ROWS_BEYOND);
  const rows = [];
  for (let index = first; index < last; index += 1) rows.push(renderRow(index));
  const offset = Math.round(top / scale + first * rowHeight - top);
  return html`
    <div ref=${element} class="virtual-list ${name}" onScroll=${scroll} ...${attributes}>
      <div role="presentation" class="virtual-whole" style=${{ height: `${scrolled}px` }}>
        <div role="presentation" class="virtual-rows" style=${{ transform: `translateY(${offset}px)` }}>${rows}</div>
      </div>
    </div>`;
}

function bringIntoSight(index, rowHeight, height, { top, moveTo }) {
  const above = index * rowHeight;
  if (above < top) moveTo(above);
  else if (above + rowHeight > top + height) moveTo(above + rowHeight - height);
}
