/** Small texts: names of paths, ages, and how a program ended. */

export const baseName = (path) => (path ?? "").split(/[\\/]/).pop();

/** A path as it is seen from the project. */
export function pathFrom(root, path) {
  if (!path) return "";
  const base = root && !root.endsWith("/") ? `${root}/` : root;
  return base && path.startsWith(base) ? path.slice(base.length) : path;
}

/** How long ago a time was, in one short word. */
export function age(time, now = Date.now()) {
  const seconds = Math.max(0, Math.round((now - Date.parse(time)) / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

/** How a program ended: "exit code 0", "killed by SIGKILL", "detached". */
export function endWords(end) {
  if (!end) return "";
  if (end.reason === "terminated") return "stopped on request";
  if (end.signal) return `killed by ${end.signal}`;
  if (end.reason === "detached") return "detached";
  if (end.exit_code !== null && end.exit_code !== undefined) return `exit code ${end.exit_code}`;
  return end.reason ?? "";
}

/** Words of a command line, with quotes as a shell has them; one that is not closed goes to the end. */
export function splitWords(text) {
  const words = text.match(/(?:"(?:[^"\\]|\\.)*"?|'[^']*'?|\\.?|[^\s"'\\])+/g) ?? [];
  return words.map((word) => word.replace(/"((?:[^"\\]|\\.)*)"?|'([^']*)'?|\\(.?)/g, (_, double, single, escaped) =>
    double?.replace(/\\(.)/g, "$1") ?? single ?? escaped));
}
