/** Finds out which values of locals to show beside which lines of the function that is stopped in. */

const MOST_LINES = 300;
const LONGEST_VALUE = 60;
const DEFINITION = /^(\s*)(?:async\s+)?(?:def|class)\s+\w/;
const NOT_SHOWN = /^<(function|module|class|built-in|bound method)|^typing\./;

/** line -> [{name, value, isChanged}] for the lines from the function's first to the current one. */
export function inlineValues({ lines, colours, currentLine, functionName, locals, changed }) {
  const shown = new Map();
  const values = new Map(locals.filter((each) => isShown(each)).map((each) => [each.name, each.value]));
  if (!values.size || !lines.length) return shown;
  const first = firstLineOf(lines, currentLine, functionName);
  for (let line = first; line <= currentLine; line += 1) {
    const end = endOfDefinition(lines, line, currentLine);
    if (end < currentLine) {
      line = end; // what is defined there has names of its own
      continue;
    }
    const names = new Set(colours.of(line - 1)?.filter(isUse).map((token) => token.text));
    const found = [...names].filter((name) => values.has(name));
    if (found.length) shown.set(line, found.map((name) => ({
      name, value: shortened(values.get(name)), isChanged: changed.has(name),
    })));
  }
  return shown;
}

const isUse = ({ type }) => type === "name" || type === "type" || type === "call";
const isShown = ({ name, value }) => value !== undefined && name !== "self" && !NOT_SHOWN.test(value);
const shortened = (text) => (text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text);

/** The last line of a function or class, as far as `farthest`, if it begins on a line; else `farthest`. */
function endOfDefinition(lines, line, farthest) {
  const [, indent] = DEFINITION.exec(lines[line - 1] ?? "") ?? [];
  if (indent === undefined) return farthest;
  let end = line;
  while (end < farthest && !isOutside(lines[end] ?? "", indent.length)) end += 1;
  return end;
}

/** Whether a line is behind a block whose head has this indent. */
const isOutside = (text, indent) => /^\s*[^\s)\]}#]/.test(text) && text.search(/\S/) <= indent;

/** Where the function begins, as its text tells; far above the line it is not looked for. */
function firstLineOf(lines, currentLine, functionName) {
  const farthest = Math.max(1, currentLine - MOST_LINES);
  const name = (functionName ?? "").replace(/\(.*$/, "").split(/[.:]+/).pop();
  if (!/^\w+$/.test(name)) return farthest;
  const definition = new RegExp(`\\b(def|fn|func|function)\\s+${name}\\b|^\\w.*\\b${name}\\s*\\([^;]*$`);
  for (let line = currentLine; line >= farthest; line -= 1) {
    if (definition.test(lines[line - 1] ?? "")) return line;
  }
  return currentLine;
}
