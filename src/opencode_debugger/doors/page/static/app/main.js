/** Mounts the page and shows what the address says: `#/` the sessions, `#/sessions/ID` one of them. */
import "./first_answers.js";
import { computed, html, render, signal } from "./framework.js";
import { signInNeeded } from "./relay.js";
import { LaterPart, loadParts } from "./later_part.js";
import { SessionPage } from "./session_view.js";
import { SignInPage, signInByAddress } from "./sign_in_page.js";
import { Toasts } from "./toasts.js";

const address = signal(location.hash);
const sessionId = computed(() => /^#\/sessions\/([\w-]+)/.exec(address.value)?.[1]);

function Page() {
  return html`
    ${signInNeeded.value ? html`<${SignInPage} />` : html`<${Content} />`}
    <${Toasts} />
  `;
}

function Content() {
  const id = sessionId.value;
  return id ? html`<${SessionPage} key=${id} id=${id} />` : html`<${LaterPart} name="sessionList" />`;
}

window.addEventListener("hashchange", () => (address.value = location.hash));
const root = document.getElementById("page");
if (!sessionId.value) loadParts();
await signInByAddress();
root.replaceChildren();
render(html`<${Page} />`, root);
