/** Divides lines of source into coloured parts, a line at a time: each line begins in the state the last one ended in. */

const words = (text) => new Set(text.split(" "));

const PYTHON = {
  pattern: /(?<comment>#.*)|(?<string>[rbfutRBFUT]{0,2}(?:"""|'''|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?))|(?<meta>@[\w.]+)|(?<number>\b\d(?:[\w.]|(?<=[eE])[+-])*)|(?<name>[^\W\d]\w*)|(?<other>\s+|[^\w\s]+?)/gyu,
  keywords: words("and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try type while with yield"),
  constants: words("True False None self cls NotImplemented Ellipsis"),
  definers: words("def class"),
  multiline: (text) => /^\w{0,2}("""|''')$/.exec(text)?.[1],
  /** whether what spans lines may begin on a line */
  mayOpen: /"""|'''/,
};

const C_PATTERN = /(?<comment>\/\/.*|\/\*)|(?<string>\w?"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)+'|`(?:[^`\\]|\\.)*`?)|(?<meta>^\s*#\s*\w+|#!?\[.*?\])|(?<number>\b\d(?:[\w.']|(?<=[eEpP])[+-])*)|(?<name>[^\W\d][\w$]*!?)|(?<other>\s+|[^\w\s]+?)/gyu;
const asC = (keywords, constants = "true false nullptr NULL this nil null") => ({
  pattern: C_PATTERN,
  keywords: words(keywords),
  constants: words(constants),
  definers: words("struct class enum union fn trait impl func function interface type"),
  multiline: (text) => (text === "/*" ? "*/" : undefined),
  mayOpen: /\/\*/,
});

const C_WORDS = "auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while _Bool bool size_t";
const LANGUAGES = {
  python: PYTHON,
  c: asC(C_WORDS),
  cpp: asC(`${C_WORDS} class constexpr consteval co_await co_return co_yield concept requires delete explicit export final friend mutable namespace new noexcept operator override private protected public template throw try catch typename using virtual decltype static_cast dynamic_cast reinterpret_cast const_cast`),
  rust: asC("as async await break const continue crate dyn else enum extern fn for if impl in let loop match mod move mut pub ref return static struct super trait type union unsafe use where while", "true false self Self None Some Ok Err"),
  go: asC("break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var"),
  javascript: asC("async await break case catch class const continue debugger default delete do else export extends finally for from function if import in instanceof let new of return static super switch throw try typeof var void while yield interface type enum implements"),
  plain: null,
};
const ENDINGS = {
  py: "python", pyi: "python", pyw: "python", c: "c", h: "cpp", cc: "cpp", cpp: "cpp", cxx: "cpp", hpp: "cpp", hh: "cpp",
  rs: "rust", go: "go", js: "javascript", mjs: "javascript", ts: "javascript", java: "javascript",
};
const LONGEST_COLOURED = 4000;

/** The language of a file by its ending; code without a file is Python. */
export function languageOf(path) {
  const ending = /\.(\w+)$/.exec(path ?? "")?.[1];
  if (!ending) return path?.startsWith("/") ? "plain" : "python";
  return ENDINGS[ending.toLowerCase()] ?? "plain";
}

/** Colours the lines of one file; `lines` may have holes that are filled later: `forgetFrom` then. */
export class LineColours {
  constructor(lines, language) {
    this.lines = lines;
    this.language = LANGUAGES[language];
    this.states = [undefined];
    this.tokens = [];
  }

  /** Forget the parts from a line on, by its index: its text, or that of some after it, is another. */
  forgetFrom(index) {
    this.states.length = Math.min(this.states.length, index + 1);
    this.tokens.length = Math.min(this.tokens.length, index);
  }

  /** The parts of a line, by its index: {type, text} each. */
  of(index) {
    for (let at = this.states.length - 1; at < index; at += 1) this.states.push(this.#stateAfter(at));
    const line = this.lines[index];
    this.tokens[index] ??= line === undefined ? [] : this.#divide(line, this.states[index]).tokens;
    return this.tokens[index];
  }

  /** The state in which a line ends. Most need not be divided for it, and files are long. */
  #stateAfter(index) {
    const line = this.lines[index];
    const state = this.states[index];
    if (line === undefined || !this.language || (!state && !this.language.mayOpen.test(line))) return undefined;
    return this.#divide(line, state).state;
  }

  #divide(line, state) {
    if (!this.language || line.length > LONGEST_COLOURED) return { tokens: [{ type: "plain", text: line }], state };
    const tokens = [];
    let at = 0;
    const takeUntil = (closing, type, from) => {
      const end = line.indexOf(closing, from);
      const to = end < 0 ? line.length : end + closing.length;
      tokens.push({ type, text: line.slice(at, to) });
      at = to;
      return end < 0 ? { closing, type } : undefined;
    };
    let open = state ? takeUntil(state.closing, state.type, 0) : undefined;
    while (at < line.length && !open) {
      const { type, text } = this.#next(line, at);
      const closing = (type === "string" || type === "comment") && this.language.multiline(text);
      if (closing) {
        open = takeUntil(closing, type, at + text.length);
        continue;
      }
      tokens.push({ type: type === "name" ? this.#kindOf(text, tokens, line, at) : type, text });
      at += text.length;
    }
    return { tokens, state: open };
  }

  #next(line, at) {
    const { pattern } = this.language;
    pattern.lastIndex = at;
    const found = pattern.exec(line);
    if (!found) return { type: "other", text: line[at] };
    const type = Object.keys(found.groups).find((name) => found.groups[name] !== undefined);
    return { type, text: found[0] };
  }

  #kindOf(name, before, line, at) {
    const { keywords, constants, definers } = this.language;
    const last = before.findLast((token) => token.text.trim());
    if (/[.>]$/.test(last?.text ?? "") && last.type === "other") return line[at + name.length] === "(" ? "call" : "attribute";
    if (keywords.has(name)) return "keyword";
    if (constants.has(name)) return name === "self" || name === "this" ? "name constant" : "constant";
    if (last?.type === "keyword" && definers.has(last.text)) return "definition";
    if (line[at + name.length] === "(") return "call";
    return /^[A-Z]\w*[a-z]/.test(name) ? "type" : "name";
  }
}
