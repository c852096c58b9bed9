/**
 * Asks for what the page of a session shows first, while the modules that show it are still being loaded.
 *
 * Whoever makes one of these calls first gets the answer that is on its way; `forgetFirstAnswers` ends that.
 */
import { addressOf, firstPlaceOf, headersFor, REPORT_QUERY, sourcePageOf, sourceQuery } from "./requests.js";

const asked = new Map();

function ask(path, query) {
  const address = addressOf(path, query);
  const answer = fetch(address, { headers: headersFor(path), cache: "no-store" });
  answer.catch(() => undefined); // who takes it is told
  asked.set(address, answer);
  return answer;
}

async function askAbout(id) {
  const path = `/sessions/${id}`;
  const session = ask(path);
  ask(`${path}/report`, REPORT_QUERY);
  const envelope = await session.then((response) => response.clone().json()).catch(() => null);
  const place = envelope?.success && firstPlaceOf(envelope.data);
  if (place?.path?.startsWith("/")) ask(`${path}/source`, sourceQuery({ path: place.path }, sourcePageOf(place.line)));
}

/** The answer to a call that was made ahead, once; nothing if it was not. */
export function takeFirstAnswer(address) {
  const answer = asked.get(address);
  asked.delete(address);
  return answer;
}

/** From now on what is asked for is asked anew. */
export const forgetFirstAnswers = () => asked.clear();

const id = /^#\/sessions\/([\w-]+)/.exec(location.hash)?.[1];
const signsInFirst = new URLSearchParams(location.search).has("code");
if (id && !signsInFirst) askAbout(id);
