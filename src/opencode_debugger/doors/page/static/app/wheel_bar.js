/** Who drives the session, and the wheel: whoever has it drives alone. */
import { html, useEffect } from "./framework.js";
import { post } from "./relay.js";
import { keepWheel, wheelOf } from "./requests.js";
import { attempt } from "./toasts.js";
import { visibleText } from "./visible_text.js";

const PERSON = "the person at the page";
const SIGN_EVERY_MS = 30_000;
const SINCE_KEY = "wheel-since:";

const isMine = (store) => {
  const wheel = store.session.value?.wheel;
  return Boolean(wheel && wheelOf(store.id) && localStorage.getItem(SINCE_KEY + store.id) === wheel.since);
};

async function turn(store, action, force = false) {
  const answer = await attempt(post(`${store.path}/wheel`, { action, as: PERSON, force }));
  if (!answer) return;
  keepWheel(store.id, action === "take" ? answer.wheel_id : null);
  if (answer.wheel) localStorage.setItem(SINCE_KEY + store.id, answer.wheel.since);
  else localStorage.removeItem(SINCE_KEY + store.id);
  store.session.value = { ...store.session.value, wheel: answer.wheel };
}

export function WheelBar({ store }) {
  const mine = isMine(store);
  useEffect(() => store.onEvents((events) => {
    if (events.some(({ kind }) => kind === "wheel" || kind === "continued")) store.refreshSoon("session");
  }), [store]);
  // The holder gives a sign of life: a closed tab must not hold the session for ever.
  useEffect(() => {
    if (!mine) return undefined;
    const timer = setInterval(() => store.get("status").catch(() => {}), SIGN_EVERY_MS);
    return () => clearInterval(timer);
  }, [mine, store]);
  const session = store.session.value;
  if (!session || store.gone.value) return null;
  return html`<div class=${`wheel-bar ${mine ? "mine" : session.wheel ? "taken" : ""}`} role="group" aria-label="Who drives">
    <${Words} session=${session} mine=${mine} />
    ${mine ? html`<button class="button primary" onClick=${() => turn(store, "give_back")}>Give the wheel back</button>`
      : html`<button class="button" title="Nobody else can move or change the program until you give it back"
          onClick=${() => turn(store, "take", Boolean(session.wheel))}>${session.wheel ? "Take it over" : "Take the wheel"}</button>`}
  </div>`;
}

function Words({ session: { wheel, driver }, mine }) {
  if (mine) return html`<span role="status"><strong>You have the wheel.</strong> Others can only look.</span>`;
  if (wheel) {
    const since = new Date(wheel.since).toLocaleTimeString();
    return html`<span role="status"><strong>${visibleText(wheel.holder)}</strong> has the wheel since ${since}.</span>`;
  }
  if (!driver) return null;
  const what = driver.operation ? ` · ${driver.operation.replaceAll("_", " ")}` : "";
  return html`<span class="driver" title=${`moved it last, at ${new Date(driver.at).toLocaleTimeString()}`}>
    ${visibleText(driver.client || driver.door)} (${driver.door})${what}</span>`;
}
