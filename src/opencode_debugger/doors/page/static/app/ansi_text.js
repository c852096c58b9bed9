/** Reads output as a terminal would: lines of pieces, each with the classes of its colours. Everything stays text. */
import { visibleLine } from "./visible_text.js";

const ESCAPE = /\x1b(?:\[([0-9;:?<=>]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-~])/g;
/** An escape sequence that has not ended yet: the rest comes with the next piece of output. */
const UNFINISHED = /\x1b(?:\[[0-9;:?<=>]*[ -/]*|\][^\x07\x1b]{0,2000}|[PX^_][^\x1b]{0,2000}|[ -/]*)?$/;
const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
const LONGEST_LINE = 20_000;

/** Turns pieces of output into lines; keeps colours and an unfinished line from piece to piece. */
export class AnsiReader {
  constructor() {
    this.style = new Set();
    this.classes = "";
    this.rest = "";
    this.#beginLine();
  }

  /** Read more; answers with the lines that it ended, each a list of pieces. `open` is what follows. */
  read(output) {
    let text = this.rest + output;
    const unfinished = UNFINISHED.exec(text);
    this.rest = unfinished ? unfinished[0] : "";
    if (unfinished) text = text.slice(0, unfinished.index);
    const lines = [];
    let at = 0;
    for (const match of text.matchAll(ESCAPE)) {
      this.#put(text.slice(at, match.index), lines);
      at = match.index + match[0].length;
      if (match[2] === "m") this.#paint(match[1]);
    }
    this.#put(text.slice(at), lines);
    return lines;
  }

  #put(text, lines) {
    text.split("\n").forEach((part, number) => {
      if (number > 0) {
        lines.push(this.open);
        this.#beginLine();
      }
      this.#putPart(part);
    });
  }

  #beginLine() {
    /** pieces of the line that has not ended: {text, classes} */
    this.open = [];
    this.length = 0;
    this.returns = false;
  }

  /** What follows a carriage return begins the line anew, as progress bars do; one before the end means nothing. */
  #putPart(part) {
    for (const [number, stretch] of part.split("\r").entries()) {
      if (number > 0) this.returns = true;
      if (stretch && this.returns) this.#beginLine();
      const shown = visibleLine(stretch.slice(0, Math.max(0, LONGEST_LINE - this.length)));
      if (!shown) continue;
      this.length += shown.length;
      this.open.push({ text: this.length >= LONGEST_LINE ? `${shown}…` : shown, classes: this.classes });
    }
  }

  #paint(numbers) {
    const codes = numbers.split(/[;:]/).map(Number);
    for (let at = 0; at < codes.length; at += 1) at += this.#apply(codes, at);
    this.classes = [...this.style].join(" ");
  }

  /** Apply one code; answers with how many further numbers belong to it. */
  #apply(codes, at) {
    const code = codes[at];
    if (code === 0) this.style.clear();
    else if (code in SWITCHES) this.#switch(...SWITCHES[code]);
    else if (code === 38 || code === 48) return this.#extended(codes, at);
    else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) {
      this.#colour("fg", `${COLOURS[code % 10]}${code >= 90 ? "-bright" : ""}`);
    } else if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107)) {
      this.#colour("bg", `${COLOURS[code % 10]}${code >= 100 ? "-bright" : ""}`);
    } else if (code === 39) this.#colour("fg", null);
    else if (code === 49) this.#colour("bg", null);
    return 0;
  }

  #switch(name, isOn) {
    if (isOn) this.style.add(`ansi-${name}`);
    else name.split(" ").forEach((each) => this.style.delete(`ansi-${each}`));
  }

  #colour(ground, name) {
    for (const each of this.style) if (each.startsWith(`ansi-${ground}-`)) this.style.delete(each);
    if (name) this.style.add(`ansi-${ground}-${name}`);
  }

  /** Colours beyond the sixteen become the nearest of these, which fit light and dark pages. */
  #extended(codes, at) {
    const ground = codes[at] === 38 ? "fg" : "bg";
    if (codes[at + 1] === 5) {
      this.#colour(ground, nameOfIndex(codes[at + 2] ?? 0));
      return 2;
    }
    if (codes[at + 1] === 2) {
      this.#colour(ground, nearestName(codes.slice(at + 2, at + 5)));
      return 4;
    }
    return 1;
  }
}

const SWITCHES = {
  1: ["bold", true], 2: ["dim", true], 3: ["italic", true], 4: ["underline", true], 7: ["inverse", true],
  9: ["strike", true], 22: ["bold dim", false], 23: ["italic", false], 24: ["underline", false],
  27: ["inverse", false], 29: ["strike", false],
};

function nameOfIndex(index) {
  if (index < 16) return `${COLOURS[index % 8]}${index >= 8 ? "-bright" : ""}`;
  if (index >= 232) return nearestName(Array(3).fill((index - 232) * 10 + 8));
  const part = index - 16;
  return nearestName([Math.floor(part / 36), Math.floor(part / 6) % 6, part % 6].map((level) => level * 51));
}

function nearestName([red = 0, green = 0, blue = 0]) {
  const most = Math.max(red, green, blue);
  const bits = [red, green, blue].map((each) => (most > 40 && each > most / 2 ? 1 : 0));
  return `${COLOURS[bits[0] + 2 * bits[1] + 4 * bits[2]]}${most > 170 ? "-bright" : ""}`;
}
