/** How requests to the relay are spelled: their addresses and headers. It needs no other module. */

export const API = "/api/v1";
const WHEEL_KEY = "wheel:";

/** The address of a call; values of `query` that are undefined are left out. */
export const addressOf = (path, query) => API + path + queryText(query);

export function queryText(query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  return given.length ? `?${new URLSearchParams(given)}` : "";
}

export function headersFor(path, body) {
  const headers = { "X-Debug-Door": "page" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const wheel = wheelOf(path.split("/")[2]);
  if (wheel) headers["X-Debug-Wheel"] = wheel;
  return headers;
}

/** The secret that shows that this browser holds the wheel of a session. */
export const wheelOf = (sessionId) => localStorage.getItem(WHEEL_KEY + sessionId);

export function keepWheel(sessionId, secret) {
  if (secret) localStorage.setItem(WHEEL_KEY + sessionId, secret);
  else localStorage.removeItem(WHEEL_KEY + sessionId);
}

export const PAGE_LINES = 1000;

/** Which page of a source file a line is on; pages are counted from 0. */
export const sourcePageOf = (line) => Math.floor((Math.max(line, 1) - 1) / PAGE_LINES);

/** What of a source file is asked for at once. */
export function sourceQuery(place, page) {
  const first = page * PAGE_LINES + 1;
  return { ...place, start_line: first, end_line: first + PAGE_LINES - 1 };
}

/** What a page wants to know of a stop. */
export const REPORT_QUERY = {
  fields: "location,source,locals,watches,stack,exception,breakpoints,return_value",
  lean: true,
};

/** The same of a moment in the past, with what had been written by then. */
export const PAST_REPORT_QUERY = { ...REPORT_QUERY, fields: `${REPORT_QUERY.fields},output` };

/** The place of a session that is shown first: where it is paused, else the beginning of its script. */
export function firstPlaceOf({ current_location: location, program }) {
  if (location?.path) return { path: location.path, line: location.line };
  return program?.script?.startsWith("/") ? { path: program.script, line: 1 } : null;
}
