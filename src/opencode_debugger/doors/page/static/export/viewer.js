/** Shows the timeline of an exported session, from the data in the same file. Everything is put in as text. */
"use strict";
(function () {
  const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;
  const visible = (text) => String(text ?? "").replace(HIDDEN, (each) => `⟨U+${each.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
  const exported = JSON.parse(document.getElementById("data").textContent);
  const session = exported.session ?? {};
  const list = document.getElementById("entries");
  const report = document.getElementById("report");

  function element(name, className, text) {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = visible(text);
    return made;
  }

  function wordsOf(entry) {
    if (entry.kind !== "command") return entry.kind;
    return `${entry.operation} ${entry.arguments ?? ""}`.trim();
  }

  const whoOf = (entry) => [entry.client, entry.door && `(${entry.door})`].filter(Boolean).join(" ");
  const tookOf = ({ duration_ms: took }) => (took === null || took === undefined ? "" : `${Math.round(took)} ms`);

  function show(entry, button) {
    list.querySelector("[aria-pressed=true]")?.setAttribute("aria-pressed", "false");
    button.setAttribute("aria-pressed", "true");
    const heading = element("h2", "", wordsOf(entry));
    const facts = element("p", "who", [entry.at, whoOf(entry), tookOf(entry)].filter(Boolean).join(" · "));
    const text = element("pre", "", entry.report || entry.outcome || "Nothing was said.");
    report.replaceChildren(heading, facts, text);
  }

  function rowOf(entry) {
    const row = element("li");
    const failed = String(entry.outcome ?? "").startsWith("error") ? " failed" : "";
    const button = element("button", entry.kind + failed);
    button.type = "button";
    button.setAttribute("aria-pressed", "false");
    const words = element("span", "words");
    words.append(element("span", "what", wordsOf(entry)), " ", element("span", "outcome", entry.outcome ? `→ ${entry.outcome}` : ""));
    button.append(element("span", "time", String(entry.at ?? "").slice(11, 23)), element("span", "who", whoOf(entry)), words,
      element("span", "took", tookOf(entry)));
    button.addEventListener("click", () => show(entry, button));
    row.append(button);
    row.dataset.text = visible(`${whoOf(entry)} ${wordsOf(entry)} ${entry.outcome ?? ""}`).toLowerCase();
    return row;
  }

  document.getElementById("title").textContent = visible(`Timeline of ${session.name ?? session.session_id ?? "a debug session"}`);
  document.getElementById("facts").textContent = visible([session.session_id, exported.exported_at && `exported at ${exported.exported_at}`,
    `${exported.entries.length} entries`, exported.dropped ? `${exported.dropped} older ones were not kept` : ""].filter(Boolean).join(" · "));
  list.append(...exported.entries.map(rowOf));
  document.getElementById("filter").addEventListener("input", (event) => {
    const wanted = event.target.value.toLowerCase();
    for (const row of list.children) row.hidden = !row.dataset.text.includes(wanted);
  });
})();
