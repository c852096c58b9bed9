/** What every client asked for and what happened, in order; a click shows what the report said then. */
import { html, useEffect, useRef, useSignal } from "./framework.js";
import { stateOf } from "./panel_state.js";
import { TimelineLog, tookOf, whoOf, wordsOf } from "./timeline_log.js";
import { VirtualList } from "./virtual_list.js";
import { cutText, visibleLine, visibleText } from "./visible_text.js";

const ROW_HEIGHT = 24;
const SHOWN_WORDS = 300;
const CLOCK = { hour12: false, hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 };

export function TimelinePanel({ store }) {
  const log = stateOf(store, "timeline", (each) => new TimelineLog(each));
  const filter = useSignal("");
  const follows = useSignal(true);
  log.version.value;
  useEffect(() => {
    if (store.connection.value === "live") log.pull();
  }, [store.connection.value]);
  const wanted = filter.value.toLowerCase();
  const entries = wanted ? log.entries.filter((entry) => searchedText(entry).includes(wanted)) : log.entries;
  return html`<div class="timeline-panel">
    <div class="panel-tools">
      <input type="search" aria-label="Show entries that contain" placeholder="Filter" value=${filter.value}
        onInput=${(event) => (filter.value = event.target.value)} />
      <label><input type="checkbox" checked=${follows.value}
        onChange=${(event) => (follows.value = event.target.checked)} /> Follow</label>
      <a class="button" href=${`/api/v1${store.path}/timeline/export`} download=${`${store.id}-timeline.html`}>Export as HTML</a>
      <span class="muted">${log.missing > 0 && `${log.missing} older entries are gone · `}${entries.length} entries</span>
    </div>
    <div class="timeline-body">
      <${TimelineRows} log=${log} entries=${entries} follows=${follows} />
      ${log.chosen.value && html`<${EntryReport} store=${store} log=${log} />`}
    </div>
  </div>`;
}

const searchedText = (entry) => `${whoOf(entry)} ${wordsOf(entry)} ${entry.outcome}`.toLowerCase();

function TimelineRows({ log, entries, follows }) {
  const handle = useRef(null);
  const chosenId = log.chosen.value?.id;
  const at = entries.findIndex((entry) => entry.id === chosenId);
  const move = (to) => {
    const index = Math.max(0, Math.min(to, entries.length - 1));
    if (!entries[index]) return;
    follows.value = false;
    log.choose(entries[index]);
    handle.current.show(index);
  };
  const press = (event) => {
    const at = entries.findIndex((entry) => entry.id === log.chosen.value?.id);
    const to = { ArrowDown: at + 1, ArrowUp: at < 0 ? entries.length - 1 : at - 1, Home: 0, End: entries.length - 1,
      PageDown: at + 12, PageUp: at - 12 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    move(to);
  };
  const renderRow = (index) => html`<${TimelineRow} key=${entries[index].id} entry=${entries[index]} index=${index}
    count=${entries.length} isChosen=${entries[index].id === chosenId} onChoose=${() => log.choose(entries[index])} />`;
  return html`<${VirtualList} class="timeline-rows" role="listbox" aria-label="Timeline" tabindex="0" handle=${handle}
    aria-activedescendant=${at >= 0 ? `entry-${chosenId}` : undefined} count=${entries.length} rowHeight=${ROW_HEIGHT}
    renderRow=${renderRow} follow=${follows.value} onAtEnd=${(isAtEnd) => isAtEnd || (follows.value = false)} onKeyDown=${press} />`;
}

function TimelineRow({ entry, index, count, isChosen, onChoose }) {
  const { id, at, kind, failed, outcome } = entry;
  return html`<div id=${`entry-${id}`} role="option" aria-selected=${isChosen} aria-posinset=${index + 1} aria-setsize=${count}
      class=${`timeline-row ${kind} ${failed ? "failed" : ""}`} onClick=${onChoose}>
    <time dateTime=${at}>${timeOfDay(at)}</time>
    <span class="timeline-who">${visibleText(whoOf(entry))}</span>
    <span class="timeline-words"><b>${visibleText(cutText(wordsOf(entry), SHOWN_WORDS))}</b>
      <span class="timeline-outcome">${outcome && `→ ${visibleText(outcome)}`}</span></span>
    <span class="timeline-took">${tookOf(entry)}</span>
  </div>`;
}

const timeOfDay = (at) => new Date(at).toLocaleTimeString(undefined, CLOCK);

function EntryReport({ store, log }) {
  const entry = log.chosen.value;
  const text = entry.report ?? (entry.report === undefined && entry.has_report ? "…" : entry.outcome);
  return html`<section class="entry-report" aria-label="What the report said then">
    <header><strong>${visibleText(cutText(wordsOf(entry), SHOWN_WORDS))}</strong>
      <span class="muted">${[timeOfDay(entry.at), visibleText(whoOf(entry)), tookOf(entry), entry.location && visibleText(entry.location)]
        .filter(Boolean).join(" · ")}</span>
      ${entry.location && html`<${PlaceButton} store=${store} location=${entry.location} />`}
      <button class="quiet" aria-label="Close the report" onClick=${() => (log.chosen.value = null)}>×</button>
    </header>
    <pre tabindex="0" aria-label="Report">${text.split("\n").map(visibleLine).join("\n")}</pre>
  </section>`;
}

/** Shows the line where it stood then, if that is a file of the project. */
function PlaceButton({ store, location }) {
  const [, path, line] = /^(.*):(\d+)$/.exec(location) ?? [];
  const root = store.session.value?.config?.project_root;
  if (!path || (!path.startsWith("/") && !root)) return null;
  const whole = path.startsWith("/") ? path : `${root.replace(/\/$/, "")}/${path}`;
  return html`<button class="quiet" onClick=${() => store.showPlace(whole, Number(line))}>Show line</button>`;
}
