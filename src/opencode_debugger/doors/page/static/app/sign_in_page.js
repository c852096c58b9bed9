/** Asks for a token where the relay wants one, or signs in with the one-time code of the address. */
import { html, signal } from "./framework.js";
import { remembered } from "./layout.js";
import { signInNeeded } from "./relay.js";

const SIGN_IN = "/api/v1/sign-in";

/** Sign in with {code} or {token}; answers with what is wrong, or nothing. */
export async function signIn(given) {
  const response = await fetch(SIGN_IN, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Debug-Door": "page" },
    body: JSON.stringify(given),
  }).catch(() => null);
  if (!response) return "The relay does not answer.";
  const envelope = await response.json().catch(() => null);
  if (response.ok) {
    isSignedIn.value = Boolean(envelope?.data.is_required);
    return "";
  }
  const { message, details } = envelope?.error ?? { message: `The relay answered with status ${response.status}.` };
  return [message, details?.suggestion].filter(Boolean).join(" ");
}

/** Whether this browser has signed in, so that it can sign out. */
export const isSignedIn = remembered("signed-in", false);

const problem = signal("");

/** Sign in with the one-time code of the address, if it has one; the code does not stay in the address. */
export async function signInByAddress() {
  const address = new URL(location.href);
  const code = address.searchParams.get("code");
  if (!code) return;
  address.searchParams.delete("code");
  history.replaceState(null, "", address);
  problem.value = await signIn({ code });
}

export function SignInPage() {
  const enter = async (given) => {
    problem.value = await signIn(given);
    if (!problem.value) signInNeeded.value = false;
  };
  const submit = (event) => {
    event.preventDefault();
    enter({ token: new FormData(event.target).get("token").trim() });
  };
  return html`<main class="first-words sign-in">
    <h1>This relay asks for a token</h1>
    <p>Open the address that <code>opencode-debugger serve</code> printed: its code signs in once. Or enter a token.</p>
    <form onSubmit=${submit}>
      <label>Token <input class="field" name="token" type="password" autocomplete="off" required /></label>
      <button class="button primary" type="submit">Sign in</button>
    </form>
    ${problem.value && html`<p class="error" role="alert">${problem.value}</p>`}
  </main>`;
}

/** Ends what was begun by signing in. */
export async function signOut() {
  await fetch("/api/v1/sign-out", { method: "POST", headers: { "X-Debug-Door": "page" } }).catch(() => null);
  isSignedIn.value = false;
  signInNeeded.value = true;
}
