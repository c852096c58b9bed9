/** The page of one session: toolbar, source, and the panels around it, or as tabs where there is little room. */
import { html, useEffect, useMemo } from "./framework.js";
import { Splitter, narrowTab, remembered, sizes, width } from "./layout.js";
import { LaterPart, loadParts } from "./later_part.js";
import { panels } from "./panels.js";
import { SessionStore } from "./session_store.js";
import { SourceArea } from "./source_area.js";
import { Toolbar } from "./toolbar.js";
import { useSessionKeys } from "./session_keys.js";
import { GoneBanner, PastBanner } from "./session_banner.js";
import { Announcer } from "./announcer.js";

const SOURCE = { name: "source", title: "Source", component: SourceArea };
const NARROW_ORDER = ["right", "left", "bottom"];
const folded = remembered("folded", {});
const bottomTab = remembered("bottom-tab", "output");
/** After this time the panels are loaded, though the source may not have been painted. */
const PARTS_MS = 300;

export function SessionPage({ id }) {
  const store = useMemo(() => new SessionStore(id), [id]);
  const { dialog } = store;
  useEffect(() => {
    store.open().finally(() => requestIdleCallback(loadParts, { timeout: PARTS_MS }));
    return () => store.close();
  }, [store]);
  useEffect(() => {
    const name = store.session.value?.name ?? id;
    document.title = `${name} · ${store.status.value ?? "…"}`;
  }, [store.session.value, store.status.value]);
  useSessionKeys(store);
  const close = () => (dialog.value = null);
  const shown = panels.filter((panel) => panel.when?.(store) ?? true);
  return html`
    <div class=${`session-page ${width.value} status-${store.status.value}`}>
      <${Toolbar} store=${store} />
      <${GoneBanner} store=${store} />
      <${PastBanner} store=${store} />
      <main class="session-body" aria-label="Session">
        ${width.value === "narrow" ? html`<${NarrowBody} store=${store} shown=${shown} />`
          : html`<${WideBody} store=${store} shown=${shown} />`}
      </main>
      ${dialog.value === "file" && html`<${LaterPart} name="goToFile" store=${store} onClose=${close} />`}
      ${dialog.value === "launch" && html`<${LaterPart} name="newSession" store=${store} onClose=${close} />`}
      <${Announcer} store=${store} />
    </div>`;
}

/** Source in the middle, sections at the sides, tabs below. */
function WideBody({ store, shown }) {
  const docked = (...docks) => shown.filter((panel) => docks.includes(panel.dock));
  const isWide = width.value === "wide";
  const right = isWide ? docked("right") : [...docked("right"), ...docked("left")];
  const size = (name) => `${sizes[name].value}px`;
  return html`
    ${isWide && html`
      <div class="side" style=${{ width: size("left") }}><${Sections} store=${store} list=${docked("left")} /></div>
      <${Splitter} name="left" label="Width of the left side" isVertical />`}
    <div class="middle">
      <div class="source-place"><${SourceArea} store=${store} /></div>
      ${docked("bottom").length > 0 && html`
        <${Splitter} name="bottom" label="Height of the panels below" isAfter />
        <div class="bottom" style=${{ height: size("bottom") }}>
          <${Tabs} store=${store} list=${docked("bottom")} chosen=${bottomTab} label="Panels below the source" />
        </div>`}
    </div>
    ${right.length > 0 && html`
      <${Splitter} name="right" label="Width of the right side" isVertical isAfter />
      <div class="side" style=${{ width: size("right") }}><${Sections} store=${store} list=${right} /></div>`}
  `;
}

function NarrowBody({ store, shown }) {
  const inOrder = NARROW_ORDER.flatMap((dock) => shown.filter((panel) => panel.dock === dock));
  return html`<${Tabs} store=${store} list=${[SOURCE, ...inOrder]} chosen=${narrowTab} label="Parts of the session" />`;
}

/** Panels above each other, each of which can be folded. */
function Sections({ store, list }) {
  return list.map((panel) => {
    const isFolded = Boolean(folded.value[panel.name]);
    const toggle = () => (folded.value = { ...folded.value, [panel.name]: !isFolded });
    return html`<section key=${panel.name} class=${`section ${isFolded ? "folded" : ""} panel-${panel.name}`}
        aria-labelledby=${`title-${panel.name}`}>
      <h2 class="section-title" id=${`title-${panel.name}`}>
        <button aria-expanded=${!isFolded} onClick=${toggle}>
          <span class="fold" aria-hidden="true" />${panel.title}<${Badge} panel=${panel} store=${store} />
        </button>
      </h2>
      ${!isFolded && html`<div class="section-body"><${LaterPart} name=${panel.name} store=${store} /></div>`}
    </section>`;
  });
}

/** One panel at a time, chosen by tabs. */
function Tabs({ store, list, chosen, label }) {
  const current = list.find((panel) => panel.name === chosen.value) ?? list[0];
  const choose = (panel) => (chosen.value = panel.name);
  const moveByKey = (event) => {
    const at = list.indexOf(current);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: list.length - 1 }[event.key];
    if (to === undefined) return;
    const next = list[(to + list.length) % list.length];
    choose(next);
    event.currentTarget.querySelector(`#tab-${next.name}`)?.focus();
    event.preventDefault();
  };
  return html`
    <div class="tabs" role="tablist" aria-label=${label} onKeyDown=${moveByKey}>
      ${list.map((panel) => html`
        <button key=${panel.name} id=${`tab-${panel.name}`} role="tab" aria-selected=${panel === current}
            aria-controls="tab-panel" tabindex=${panel === current ? 0 : -1} onClick=${() => choose(panel)}>
          ${panel.title}<${Badge} panel=${panel} store=${store} />
        </button>`)}
    </div>
    <div class=${`tab-panel panel-${current.name}`} id="tab-panel" role="tabpanel" aria-labelledby=${`tab-${current.name}`}>
      <${current.component ?? LaterPart} name=${current.name} store=${store} key=${current.name} />
    </div>`;
}

function Badge({ panel, store }) {
  const text = panel.badge?.(store);
  return text ? html`<span class="badge">${text}</span>` : null;
}
