/** Fills in what lean answers leave out because the rest says it. */

/** Give each frame its path: one without has that of the frame above, the first that of the stop. */
export function framesOf(leanFrames = [], firstPath = null) {
  let path = firstPath;
  return leanFrames.map((frame) => {
    path = frame.path === undefined ? path : frame.path;
    return { presentation_hint: "normal", ...frame, path };
  });
}

/** Lines of source that are one text, numbered, `>` at the current one: {line, text} each. */
export function rowsOf(leanSource = "") {
  const rows = leanSource.split("\n").map((row) => /^[ >] *(\d+)(?: (.*))?$/.exec(row)).filter(Boolean);
  return rows.map(([, line, text = ""]) => ({ line: Number(line), text }));
}

/** The frame that a report is about: the top, unless it says another. */
export const frameOfReport = (report) => report.frame_id ?? 0;
