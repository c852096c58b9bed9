/** Talks to the relay: calls that answer with data or throw a RelayError, and streams that all tabs share. */
import { signal } from "./framework.js";
import { EventStream } from "./event_stream.js";
import { takeFirstAnswer } from "./first_answers.js";
import { API, addressOf, headersFor } from "./requests.js";

const ABSENCE_MS = 20_000;

/** True once the relay has refused a call for want of a token: the page then asks for one. */
export const signInNeeded = signal(false);

/** What the relay answered instead of data, or that it did not answer. */
export class RelayError extends Error {
  constructor({ code, message, details = {} }, status = 0) {
    super(message);
    this.code = code;
    this.details = details;
    this.status = status;
  }

  get suggestion() {
    return this.details.suggestion ?? "";
  }

  get isGone() {
    return this.code === "SESSION_NOT_FOUND" || this.code === "SESSION_EXPIRED";
  }
}

const UNREACHABLE = {
  code: "RELAY_UNREACHABLE",
  message: "The relay does not answer.",
  details: { suggestion: "Start it again with `opencode-debugger serve`; the page comes back by itself." },
};

/** Make one call; `query` and `body` are plain objects, values that are undefined are left out. */
export async function call(method, path, { query, body, signal: abort } = {}) {
  const address = addressOf(path, query);
  const first = method === "GET" ? takeFirstAnswer(address) : undefined;
  const response = await (first ?? fetch(address, {
    method,
    headers: headersFor(path, body),
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: abort,
    cache: "no-store",
  })).catch((cause) => {
    throw cause.name === "AbortError" ? cause : new RelayError(UNREACHABLE);
  });
  const envelope = await response.json().catch(() => null);
  if (envelope?.success) return envelope.data;
  if (response.status === 401) signInNeeded.value = true;
  const fallback = { code: `HTTP_${response.status}`, message: `The relay answered with status ${response.status}.` };
  throw new RelayError(envelope?.error ?? fallback, response.status);
}

export const get = (path, query, options) => call("GET", path, { query, ...options });
export const post = (path, body = {}, options) => call("POST", path, { body, ...options });
export const patch = (path, body) => call("PATCH", path, { body });
export const remove = (path, query) => call("DELETE", path, { query });

/**
 * Follow a stream of events until the returned function is called.
 *
 * A browser opens few connections to one host, so tabs share one stream for each address through a worker.
 * `onEvents` gets batches of `{id, kind, data}`; `onState` gets "live" whenever the stream was opened (what happened
 * before is then to be read anew), "lost" while it is being opened again, "away" while nobody sees the page, and
 * "ended" with the error that ended it.
 */
export function follow(path, handlers) {
  const address = API + path;
  const { onEvents } = handlers;
  const onState = (state, error) => {
    if (error?.status === 401) signInNeeded.value = true;
    else handlers.onState(state, error);
  };
  const port = sharedPort();
  if (!port) {
    const stream = new EventStream(address, { onEvents, onState });
    stream.open();
    return () => stream.close();
  }
  const receive = ({ data: message }) => {
    if (message.address !== address) return;
    if (message.events) onEvents(message.events);
    else onState(message.state, message.error);
  };
  const leave = () => port.postMessage({ leave: address });
  const enter = () => port.postMessage({ follow: address });
  port.addEventListener("message", receive);
  const endWatch = watchAbsence(enter, () => {
    leave();
    onState("away");
  });
  enter();
  return () => {
    port.removeEventListener("message", receive);
    endWatch();
    leave();
  };
}

/** Have a page that nobody sees for a while give its connection back, and take it up again when it is seen. */
function watchAbsence(enter, leave) {
  let timer;
  let isAway = false;
  const setAway = (away) => {
    clearTimeout(timer);
    if (away !== isAway) (away ? leave : enter)();
    isAway = away;
  };
  const look = () => {
    clearTimeout(timer);
    if (document.visibilityState === "visible") setAway(false);
    else timer = setTimeout(() => setAway(true), ABSENCE_MS);
  };
  const hide = () => setAway(true);
  const show = () => setAway(false);
  document.addEventListener("visibilitychange", look);
  window.addEventListener("pagehide", hide);
  window.addEventListener("pageshow", show);
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", look);
    window.removeEventListener("pagehide", hide);
    window.removeEventListener("pageshow", show);
  };
}

let workerPort;

function sharedPort() {
  if (workerPort || !("SharedWorker" in window)) return workerPort;
  const address = new URL("./stream_worker.js", import.meta.url);
  workerPort = new SharedWorker(address, { type: "module", name: "debug-relay-streams" }).port;
  workerPort.start();
  return workerPort;
}
