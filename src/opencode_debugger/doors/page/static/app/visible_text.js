/** Makes text of a program safe to look at: characters that move, hide or turn other text become marks. */

const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;
const HIDDEN_BESIDES_TABS = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

/** One line of text in which every character is seen: control characters as their pictures, others by their number. */
export const visibleText = (text) => String(text ?? "").replace(HIDDEN, markOf);

/** The same for a line of a file or of output, in which tabs are meant. */
export const visibleLine = (text) => String(text ?? "").replace(HIDDEN_BESIDES_TABS, markOf);

/** The text, or its beginning where it is too long to be shown. */
export const cutText = (text, length) => (text.length > length ? `${text.slice(0, length)}…` : text);

function markOf(character) {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}
